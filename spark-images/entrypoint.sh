#!/bin/sh
# What Spark on Kubernetes asks of an image: `driver ARGS...` and `executor`, told the rest by environment variables.
# `pause` only waits: a cluster without any other image takes this one for its pods' sandboxes.
set -eu

role=${1:-pause}
[ $# -eq 0 ] || shift

case $role in
  driver)
    exec "$SPARK_HOME/bin/spark-submit" \
      --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
      --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" \
      --deploy-mode client "$@"
    ;;
  executor)
    # Spark numbers the JVM's options: SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1, ...
    number=0
    while eval "[ \"\${SPARK_JAVA_OPT_$number+set}\" = set ]"; do
      eval "set -- \"\$@\" \"\$SPARK_JAVA_OPT_$number\""
      number=$((number + 1))
    done
    # Drivers get these folders from spark-submit.
    settings=${SPARK_CONF_DIR:-$SPARK_HOME/conf}${HADOOP_CONF_DIR:+:$HADOOP_CONF_DIR}
    exec java "$@" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
      -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$settings:$SPARK_HOME/jars/*" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
      --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
      --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
    ;;
  pause)
    exec sleep infinity
    ;;
  *)
    exec "$role" "$@"
    ;;
esac
