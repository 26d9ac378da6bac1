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

-- The operator could not go on with the job, whatever its phase says.
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Stalled" and condition.status == "True" and condition.observedGeneration == generation then
    return { status = "Degraded", message = condition.reason .. ": " .. condition.message }
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
return { status = health, message = status.phase .. ": " .. (status.message or "") }
