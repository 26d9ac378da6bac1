"""Before: a task of Airflow. The pool of one slot keeps all writers of the table apart, whatever they touch."""

from airflow import DAG
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from pendulum import datetime

with DAG("orders", start_date=datetime(2026, 11, 1), schedule="@daily", catchup=False):
    SparkSubmitOperator(
        task_id="merge_orders",
        application="/opt/etl/merge_orders.py",
        application_args=[
            "--orders=s3a://lake/store/orders",
            "--corrections=s3a://lake/store/corrections",
            "--day={{ ds }}",
        ],
        num_executors=4,
        pool="writers-of-orders",
        retries=3,
    )
