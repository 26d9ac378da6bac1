local generation = obj.metadata.generation
local conditions = (obj.status or {}).conditions or {}
local is_ready = false
local under_way = nil

for _, condition in ipairs(conditions) do
  if condition.observedGeneration == generation and condition.status == "True" then
    if condition.type == "Stalled" then
      return { status = "Degraded", message = condition.reason .. ": " .. condition.message }
    end
    is_ready = is_ready or condition.type == "Ready"
    if condition.type == "Reconciling" then
      under_way = condition.reason .. ": " .. condition.message
    end
  end
end

if is_ready then
  return { status = "Healthy", message = obj.status.reason .. ": " .. obj.status.message }
end
return { status = "Progressing", message = under_way or "Sluice has not looked at this version of it yet" }
