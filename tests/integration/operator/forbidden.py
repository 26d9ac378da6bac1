"""What an API server refuses to do with SparkApplications of one namespace, as where somebody's policy or webhook forbids it."""

from collections.abc import Iterator
from contextlib import contextmanager

from kubernetes import client

from integration.operator.played import Played


@contextmanager
def forbidden(cluster: Played, operation: str, message: str) -> Iterator[None]:
    """It counts a moment after this has begun: wait for it."""
    admission = client.AdmissionregistrationV1Api(cluster.api)
    name = f"no-{cluster.namespace}"
    metadata = client.V1ObjectMeta(name=name)
    rule = client.V1NamedRuleWithOperations(
        api_groups=["sparkoperator.k8s.io"],
        api_versions=["*"],
        operations=[operation],
        resources=["sparkapplications"],
    )
    here = client.V1LabelSelector(match_labels={"kubernetes.io/metadata.name": cluster.namespace})
    admission.create_validating_admission_policy(
        client.V1ValidatingAdmissionPolicy(
            metadata=metadata,
            spec=client.V1ValidatingAdmissionPolicySpec(
                failure_policy="Fail",
                match_constraints=client.V1MatchResources(resource_rules=[rule], namespace_selector=here),
                validations=[client.V1Validation(expression="false", message=message)],
            ),
        )
    )
    admission.create_validating_admission_policy_binding(
        client.V1ValidatingAdmissionPolicyBinding(
            metadata=metadata,
            spec=client.V1ValidatingAdmissionPolicyBindingSpec(policy_name=name, validation_actions=["Deny"]),
        )
    )
    yield
    admission.delete_validating_admission_policy_binding(name)
    admission.delete_validating_admission_policy(name)
