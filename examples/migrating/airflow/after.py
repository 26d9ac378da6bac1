"""After: the task applies a job and waits for its end. Its place in the queue is Sluice's affair, so it needs no pool; who is
in its way stands in the job's status, and in the task's log. DAGS/run-job.sh and merge-orders.yaml lie beside this file."""

from pathlib import Path

from airflow import DAG
from airflow.providers.standard.operators.bash import BashOperator
from pendulum import datetime

HERE = Path(__file__).parent

with DAG("orders", start_date=datetime(2026, 11, 1), schedule="@daily", catchup=False):
    BashOperator(
        task_id="merge_orders",
        bash_command=f"{HERE}/run-job.sh {HERE}/merge-orders.yaml {{{{ ds }}}} ",
        retries=3,
    )
