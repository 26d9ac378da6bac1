"""The service account that a driver runs as: what it must be allowed in its job's namespace, and how it is made there."""

DRIVER_VERBS = ("get", "list", "watch", "create", "patch", "delete", "deletecollection")
DRIVER_RESOURCES = ("pods", "services", "configmaps", "persistentvolumeclaims")
"""What Spark's driver makes for its executors, and removes when it ends."""


def commands(namespace: str, account: str) -> str:
    """The commands that make the account with these rights."""
    role = f"{account}-driver"
    return (
        f"kubectl create serviceaccount {account} -n {namespace} && "
        f"kubectl create role {role} -n {namespace} --verb={','.join(DRIVER_VERBS)} "
        f"--resource={','.join(DRIVER_RESOURCES)} && "
        f"kubectl create rolebinding {role} -n {namespace} --role={role} --serviceaccount={namespace}:{account}"
    )


def missing(namespace: str, account: str) -> str:
    return (
        f"namespace {namespace} has no service account {account} for drivers to run as: create it, and create the job "
        f"again: {commands(namespace, account)}"
    )
