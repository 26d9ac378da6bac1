local health_of_phase = {
  Pending = "Progressing",
  Waiting = "Progressing",
  Suspended = "Suspended",
  BackingOff = "Progressing",
  Starting = "Progressing",
  Running = "Progressing",
  Paused = "Progressing",
  Ending = "Progressing",
  Succeeded = "Healthy",
  Skipped = "Healthy",
  Failed = "Degraded",
}

local generation = obj.metadata.generation
local status = obj.status
if status == nil then
  return { status = "Progressing", message = "Sluice has not looked at it yet" }
end

local is_ready = false
for _, condition in ipairs(status.conditions or {}) do
  if condition.status == "True" and condition.observedGeneration == generation then
    if condition.type == "Stalled" then
      -- The operator could not go on with the job, whatever its phase says.
      return { status = "Degraded", message = condition.reason .. ": " .. condition.message }
    elseif condition.type == "Ready" then
      is_ready = true
    end
  end
end

if status.phase == nil or status.observedGeneration ~= generation then
  return { status = "Progressing", message = "Sluice has not looked at this version of it yet" }
end

local health = health_of_phase[status.phase]
if health == nil then
  return {
    status = "Unknown",
    message = "this health check does not know the phase " .. status.phase .. ": take the one of the version of Sluice that runs",
  }
end
if status.phase == "Running" and is_ready then
  health = "Healthy" -- a stream that runs for ever, and gets on
end
return { status = health, message = status.phase .. ": " .. (status.message or "") }
