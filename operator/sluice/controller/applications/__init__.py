"""SparkApplications and driver pods of attempts: created, observed, restored and deleted through the API server."""
