"""What a job asks of its pods that a namespace may withhold: service accounts, volumes, settings, an application of its own, and
what the Pod Security Standard "restricted" refuses. Fields of pods are a closed list: one that isn't listed may ask for all."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.api.job import Application, DeltaWriteJobSpec
from sluice.predicates.limits import MAX_CONF
from sluice.templates.pod import ACCOUNT_FIELDS
from sluice.templates.shared_rules import PLACE


class PermissionKind(StrEnum):
    TEMPLATE = "template"
    SERVICE_ACCOUNT = "service account"
    VOLUME = "volume"
    SETTING = "setting"
    PRIVILEGE = "privilege"
    EXCESS = "excess"


@dataclass(frozen=True)
class RequestedPermission:
    kind: PermissionKind
    what: str
    place: str

    def __str__(self) -> str:
        return f"{_TOLD[self.kind].format(self.what)} ({self.place})"


_TOLD: Mapping[PermissionKind, str] = {
    PermissionKind.TEMPLATE: "an application of their own",
    PermissionKind.SERVICE_ACCOUNT: "the service account {}",
    PermissionKind.VOLUME: "{} volumes",
    PermissionKind.SETTING: "this setting",
    PermissionKind.PRIVILEGE: "{}",
    PermissionKind.EXCESS: "more than {} volumes, settings and other things that may be withheld",
}
_OF_THE_JOB = "spec.runtime"
_KUBERNETES = "spark.kubernetes."
_ROLES = ("driver", "executor")
_ACCOUNT_SETTINGS = frozenset(
    f"{_KUBERNETES}authenticate.{name}"
    for name in ("serviceAccountName", "driver.serviceAccountName", "executor.serviceAccountName")
)
_VOLUME_SETTINGS = tuple(f"{_KUBERNETES}{role}.volumes." for role in _ROLES)
_SECRET_SETTINGS = tuple(f"{_KUBERNETES}{role}.secrets." for role in _ROLES)
_POD_FILES = frozenset(f"{_KUBERNETES}{role}.podTemplateFile" for role in _ROLES)
_HADOOP = "spark.hadoop."

_HARMLESS_IN_PODS = frozenset(
    {
        "activeDeadlineSeconds",
        "affinity",
        "automountServiceAccountToken",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "evictionResponders",
        "hostAliases",
        "hostUsers",
        "hostname",
        "hostnameOverride",
        "imagePullSecrets",
        "nodeName",
        "nodeSelector",
        "os",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "resourceClaims",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "schedulingGroup",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
    }
)
_HARMLESS_IN_CONTAINERS = frozenset(
    {
        "args",
        "command",
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "name",
        "resizePolicy",
        "resources",
        "restartPolicy",
        "restartPolicyRules",
        "stdin",
        "stdinOnce",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "tty",
        "volumeDevices",
        "volumeMounts",
        "workingDir",
    }
)
_HARMLESS_IN_ROLES = frozenset(
    {
        "affinity",
        "annotations",
        "coreLimit",
        "coreRequest",
        "cores",
        "deleteOnTermination",
        "dnsConfig",
        "env",
        "envFrom",
        "envSecretKeyRefs",
        "envVars",
        "gpu",
        "hostAliases",
        "image",
        "instances",
        "javaOptions",
        "kubernetesMaster",
        "labels",
        "memory",
        "memoryLimit",
        "memoryOverhead",
        "nodeSelector",
        "podName",
        "priorityClassName",
        "schedulerName",
        "serviceAnnotations",
        "serviceLabels",
        "shareProcessNamespace",
        "terminationGracePeriodSeconds",
        "tolerations",
        "volumeMounts",
    }
)
"""Of what kubeflow's operator calls `driver` and `executor`."""
_HARMLESS_IN_SECURITY = frozenset(
    {
        "fsGroup",
        "fsGroupChangePolicy",
        "readOnlyRootFilesystem",
        "runAsGroup",
        "seLinuxChangePolicy",
        "supplementalGroups",
        "supplementalGroupsPolicy",
    }
)
_PROFILES = frozenset({"RuntimeDefault", "Localhost"})
_SE_LINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_NOTHING = (None, False, "", 0)
_ANNOTATION_SETTINGS = tuple(f"{_KUBERNETES}{role}.annotation." for role in _ROLES)
MOST = 3 * MAX_CONF
"""What a job may ask for in all. Each ask is held against each pattern of the configuration."""


def asks_of(spec: DeltaWriteJobSpec) -> tuple[RequestedPermission, ...]:
    found = tuple(islice(_asks(spec), MOST + 1))
    return (
        found
        if len(found) <= MOST
        else (*found[:MOST], RequestedPermission(PermissionKind.EXCESS, f"{MOST:,}", "spec"))
    )


def _asks(spec: DeltaWriteJobSpec) -> Iterator[RequestedPermission]:
    runtime = spec.runtime
    if runtime is not None and runtime.service_account is not None:
        yield RequestedPermission(
            PermissionKind.SERVICE_ACCOUNT, runtime.service_account, f"{_OF_THE_JOB}.serviceAccount"
        )
    if runtime is not None:
        yield from _in_settings(runtime.spark_conf or {}, f"{_OF_THE_JOB}.sparkConf")
    if spec.application is not None:
        yield RequestedPermission(PermissionKind.TEMPLATE, "", PLACE)
        yield from _in_application(spec.application)


def _in_settings(conf: Mapping[str, Any], place: str, prefix: str = "") -> Iterator[RequestedPermission]:
    for given, value in conf.items():
        name, at = f"{prefix}{given}", f"{place}.{given}"
        yield RequestedPermission(PermissionKind.SETTING, name, at)
        if name in _ACCOUNT_SETTINGS:
            yield RequestedPermission(PermissionKind.SERVICE_ACCOUNT, str(value).strip(), at)
        elif name in _POD_FILES:
            yield RequestedPermission(
                PermissionKind.PRIVILEGE, "a pod template in a file, which Sluice does not see", at
            )
        elif name.startswith(_ANNOTATION_SETTINGS):
            annotation = name.partition(".annotation.")[2]
            yield from _in_annotations({annotation: value}, at.removesuffix(f".{annotation}"))
        elif name.startswith(_SECRET_SETTINGS):
            yield RequestedPermission(PermissionKind.VOLUME, "secret", at)
        elif (beginning := next(filter(name.startswith, _VOLUME_SETTINGS), None)) is not None:
            yield RequestedPermission(
                PermissionKind.VOLUME, name.removeprefix(beginning).partition(".")[0], at
            )


def _in_application(application: Application) -> Iterator[RequestedPermission]:
    template = application.template
    yield from _in_settings(_object(template.get("sparkConf")), f"{PLACE}.sparkConf")
    if application.engine is EngineKind.APACHE:
        for field in ("driverSpec", "executorSpec"):
            place = f"{PLACE}.{field}.podTemplateSpec"
            yield from _in_template(_object(_object(template.get(field)).get("podTemplateSpec")), place)
        return
    yield from _in_settings(_object(template.get("hadoopConf")), f"{PLACE}.hadoopConf", _HADOOP)
    yield from _in_volumes(template.get("volumes"), f"{PLACE}.volumes")
    for field in ("sparkConfigMap", "hadoopConfigMap"):
        if template.get(field):
            yield RequestedPermission(PermissionKind.VOLUME, "configMap", f"{PLACE}.{field}")
    for role in _ROLES:
        yield from _in_role(_object(template.get(role)), f"{PLACE}.{role}")


def _in_role(role: Json, place: str) -> Iterator[RequestedPermission]:
    yield from _in_annotations(role.get("annotations"), f"{place}.annotations")
    known: dict[str, _Reader] = {
        "configMaps": lambda _given, at: iter([RequestedPermission(PermissionKind.VOLUME, "configMap", at)]),
        "initContainers": _in_containers,
        "lifecycle": _in_hooks,
        "podSecurityContext": _in_security,
        "ports": _in_ports,
        "secrets": lambda _given, at: iter([RequestedPermission(PermissionKind.VOLUME, "secret", at)]),
        "securityContext": _in_security,
        "serviceAccount": _account,
        "sidecars": _in_containers,
        "template": lambda given, at: _in_template(_object(given), at),
        "hostNetwork": _of_the_node,
    }
    yield from _in_fields(role, place, _HARMLESS_IN_ROLES, known)


def _in_template(template: Json, place: str) -> Iterator[RequestedPermission]:
    metadata = _object(template.get("metadata"))
    yield from _in_annotations(metadata.get("annotations"), f"{place}.metadata.annotations")
    known: dict[str, _Reader] = {
        "containers": _in_containers,
        "ephemeralContainers": _in_containers,
        "initContainers": _in_containers,
        "securityContext": _in_security,
        "volumes": _in_volumes,
        **dict.fromkeys(ACCOUNT_FIELDS, _account),
        **dict.fromkeys(("hostIPC", "hostNetwork", "hostPID"), _of_the_node),
    }
    yield from _in_fields(_object(template.get("spec")), f"{place}.spec", _HARMLESS_IN_PODS, known)


def _in_containers(given: Any, place: str) -> Iterator[RequestedPermission]:
    known: dict[str, _Reader] = {
        "lifecycle": _in_hooks,
        "ports": _in_ports,
        "securityContext": _in_security,
        **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), _in_hook),
    }
    for at, container in enumerate(_list(given)):
        yield from _in_fields(_object(container), f"{place}[{at}]", _HARMLESS_IN_CONTAINERS, known)


def _in_volumes(given: Any, place: str) -> Iterator[RequestedPermission]:
    for at, volume in enumerate(_list(given)):
        for kind in _object(volume):
            if kind != "name":
                yield RequestedPermission(PermissionKind.VOLUME, kind, f"{place}[{at}].{kind}")


def _in_ports(given: Any, place: str) -> Iterator[RequestedPermission]:
    for at, port in enumerate(_list(given)):
        if _object(port).get("hostPort") not in _NOTHING:
            yield RequestedPermission(
                PermissionKind.PRIVILEGE, "a port of the node", f"{place}[{at}].hostPort"
            )


def _in_hooks(given: Any, place: str) -> Iterator[RequestedPermission]:
    for name, hook in _object(given).items():
        yield from _in_hook(hook, f"{place}.{name}")


def _in_hook(given: Any, place: str) -> Iterator[RequestedPermission]:
    """The kubelet itself asks the host that is named."""
    for how in ("httpGet", "tcpSocket"):
        if _object(_object(given).get(how)).get("host") not in _NOTHING:
            yield RequestedPermission(
                PermissionKind.PRIVILEGE, "requests of the node to another host", f"{place}.{how}.host"
            )


def _in_annotations(given: Any, place: str) -> Iterator[RequestedPermission]:
    for name, value in _object(given).items():
        is_confined = value == "runtime/default" or str(value).startswith("localhost/")
        if name.startswith(_APP_ARMOR) and not is_confined:
            yield RequestedPermission(
                PermissionKind.PRIVILEGE, f"the AppArmor profile {value}", f"{place}.{name}"
            )


def _in_security(given: Any, place: str) -> Iterator[RequestedPermission]:
    known: dict[str, _Reader] = {
        "allowPrivilegeEscalation": _unless(_NOTHING, "more privileges than its parent process"),
        "appArmorProfile": _in_profile,
        "capabilities": _in_capabilities,
        "privileged": _unless(_NOTHING, "a privileged container"),
        "procMount": _unless((None, "", "Default"), "an unmasked /proc"),
        "runAsNonRoot": _unless((None, True), "to run as root"),
        "runAsUser": _as_user,
        "seccompProfile": _in_profile,
        "seLinuxOptions": _in_se_linux,
        "sysctls": _in_sysctls,
        "windowsOptions": _in_windows,
    }
    yield from _in_fields(_object(given), place, _HARMLESS_IN_SECURITY, known)


def _as_user(given: Any, place: str) -> Iterator[RequestedPermission]:
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given <= 0):
        yield RequestedPermission(PermissionKind.PRIVILEGE, "to run as root", place)


def _in_profile(given: Any, place: str) -> Iterator[RequestedPermission]:
    profile = _object(given).get("type")
    if given is not None and profile not in _PROFILES:
        yield RequestedPermission(PermissionKind.PRIVILEGE, f"the profile {profile}", f"{place}.type")


def _in_capabilities(given: Any, place: str) -> Iterator[RequestedPermission]:
    for one in _list(_object(given).get("add")):
        if one != "NET_BIND_SERVICE":
            yield RequestedPermission(PermissionKind.PRIVILEGE, f"the capability {one}", f"{place}.add")


def _in_se_linux(given: Any, place: str) -> Iterator[RequestedPermission]:
    options = _object(given)
    for field, value in options.items():
        is_usual = value in _SE_LINUX_TYPES if field == "type" else field == "level" or value in _NOTHING
        if not is_usual:
            yield RequestedPermission(
                PermissionKind.PRIVILEGE, f"the SELinux {field} {value}", f"{place}.{field}"
            )


def _in_sysctls(given: Any, place: str) -> Iterator[RequestedPermission]:
    for at, one in enumerate(_list(given)):
        name = _object(one).get("name")
        if name not in _SYSCTLS:
            yield RequestedPermission(
                PermissionKind.PRIVILEGE, f"the kernel parameter {name}", f"{place}[{at}]"
            )


def _in_windows(given: Any, place: str) -> Iterator[RequestedPermission]:
    if _object(given).get("hostProcess") not in _NOTHING:
        yield RequestedPermission(PermissionKind.PRIVILEGE, "a process of the node", f"{place}.hostProcess")


def _of_the_node(given: Any, place: str) -> Iterator[RequestedPermission]:
    if given not in _NOTHING:
        yield RequestedPermission(
            PermissionKind.PRIVILEGE, f"the node's own ({place.rpartition('.')[2]})", place
        )


def _account(given: Any, place: str) -> Iterator[RequestedPermission]:
    if given not in _NOTHING:
        yield RequestedPermission(PermissionKind.SERVICE_ACCOUNT, str(given), place)


_Reader = Callable[[Any, str], Iterator[RequestedPermission]]


def _unless(usual: Iterable[Any], what: str) -> _Reader:
    """Reads a field that asks for something by any value but these. True and 1 are one to Python."""
    usual_ones = [(type(one), one) for one in usual]

    def read(given: Any, place: str) -> Iterator[RequestedPermission]:
        if (type(given), given) not in usual_ones:
            yield RequestedPermission(PermissionKind.PRIVILEGE, what, place)

    return read


def _in_fields(
    given: Json, place: str, harmless: frozenset[str], known: Mapping[str, _Reader]
) -> Iterator[RequestedPermission]:
    for field, value in given.items():
        if field in known:
            yield from known[field](value, f"{place}.{field}")
        elif field not in harmless:
            yield RequestedPermission(
                PermissionKind.PRIVILEGE, "a field that Sluice does not know", f"{place}.{field}"
            )


def _object(given: Any) -> Json:
    return given if isinstance(given, dict) else {}


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []
