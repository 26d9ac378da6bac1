#!/bin/bash
# Applies a DeltaWriteJob for one day and waits for its end: run-job.sh MANIFEST DAY
# Its exit code is 0 if the job ended well. Called again for the same day it waits for the same job, and runs nothing twice;
# a job that failed stays failed until somebody deletes it.
set -euo pipefail

manifest=$(sed "s/2026-11-19/$2/g" "$1")
job=$(kubectl apply --output name --filename - <<< "$manifest")
failures=0
until told=$(kubectl wait "$job" --for=condition=Reconciling=false --timeout=60s 2>&1); do
  if [[ $told == *"timed out waiting"* ]]; then
    failures=0
    kubectl get "$job" --output jsonpath='{.status.phase}: {.status.message}{"\n"}'
  else # the API server can't be asked, or refuses
    echo "$told" >&2
    ((++failures < 30)) || exit 1
    sleep 10
  fi
done
kubectl get "$job" --output jsonpath='{.status.phase}: {.status.message}{"\n"}'
kubectl wait "$job" --for=condition=Ready --timeout=1s > /dev/null
