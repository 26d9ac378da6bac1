#!/bin/bash
# Applies a DeltaWriteJob for one day and waits for its end: run-job.sh MANIFEST DAY
# Its exit code is 0 if the job ended well. Called again for the same day it waits for the same job, and runs nothing twice;
# a job that failed stays failed until somebody deletes it.
set -euo pipefail

manifest=$(sed "s/2026-11-19/$2/g" "$1")
job=$(kubectl apply --output name --filename - <<< "$manifest")
until kubectl wait "$job" --for=condition=Reconciling=false --timeout=60s > /dev/null 2>&1; do
  kubectl get "$job" --output jsonpath='{.status.phase}: {.status.message}{"\n"}'
done
kubectl get "$job" --output jsonpath='{.status.phase}: {.status.message}{"\n"}'
kubectl wait "$job" --for=condition=Ready --timeout=1s > /dev/null
