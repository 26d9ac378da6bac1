"""The first process inside the cluster's namespaces: starts the cluster's parts one after the other, then reaps.

Its end is the end of the process namespace, so of every process of the cluster, containers included.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cluster import services
from cluster.layout import API_ADDRESS, API_PORT, NODE, POD_NET, SERVICE_NET, Layout
from devenv.errors import DevError
from devenv.processes import Argument, last_lines

READY_SECONDS = 120.0
# Answers that pods give one another stay on their bridge, and have to be changed back as their questions were changed.
_BRIDGED_TOO = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")

_CNI = {
    "cniVersion": "0.4.0",
    "name": "pods",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "ipMasq": True,
            "hairpinMode": True,
            "ipam": {
                "type": "host-local",
                "subnet": f"{POD_NET}.0/24",
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        },
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ],
}


class Node:
    """Starts parts with their output in logs, and stops waiting for one that has ended."""

    def __init__(self, layout: Layout, sandbox_image: str) -> None:
        self._layout = layout
        self._sandbox_image = sandbox_image
        self._parts: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        self._network()
        self._control_plane()
        self._containers()
        self._kubelet()
        self._services()
        self._wait_for_the_node()
        self._layout.ready.touch()

    def _network(self) -> None:
        _call("ip", "link", "set", "lo", "up")
        _call("ip", "link", "add", "cni0", "type", "bridge")
        _call("ip", "addr", "add", f"{API_ADDRESS}/24", "dev", "cni0")
        _call("ip", "link", "set", "cni0", "up")
        _call("ip", "route", "add", "default", "dev", "cni0")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        if not _BRIDGED_TOO.exists():
            raise DevError(
                "The kernel has no br_netfilter loaded, without which pods do not reach Services: "
                "run `modprobe br_netfilter`, then start the cluster again."
            )
        _BRIDGED_TOO.write_text("1")
        self._on_the_node("hosts", f"127.0.0.1 localhost {NODE} {os.uname().nodename}\n")
        self._on_the_node("resolv.conf", services.RESOLV_CONF)

    def _on_the_node(self, name: str, text: str) -> None:
        """A file of /etc that is another one inside."""
        file = self._layout.folder / name
        file.write_text(text)
        _call("mount", "--bind", file, f"/etc/{name}")

    def _control_plane(self) -> None:
        layout, pki = self._layout, self._layout.certificates
        etcd = "http://127.0.0.1:2379"
        self._run(
            "etcd",
            *("--data-dir", layout.folder / "etcd", "--unsafe-no-fsync"),
            *("--listen-client-urls", etcd, "--advertise-client-urls", etcd),
            *("--listen-peer-urls", "http://127.0.0.1:2380"),
        )
        self._run(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--service-cluster-ip-range={SERVICE_NET}.0/16",
            f"--advertise-address={API_ADDRESS}",
            "--bind-address=0.0.0.0",
            f"--secure-port={API_PORT}",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            f"--client-ca-file={pki}/ca.crt",
            f"--kubelet-client-certificate={pki}/admin.crt",
            f"--kubelet-client-key={pki}/admin.key",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-account-key-file={pki}/service-accounts.key",
            f"--service-account-signing-key-file={pki}/service-accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=Node,RBAC",
            "--allow-privileged=true",
        )
        self._wait("kube-apiserver", lambda: self._kubectl("get", "--raw", "/readyz") is not None)
        identity = f"--kubeconfig={layout.kubeconfig}"
        self._run(
            "kube-controller-manager",
            identity,
            "--leader-elect=false",
            "--use-service-account-credentials",
            f"--root-ca-file={pki}/ca.crt",
            f"--service-account-private-key-file={pki}/service-accounts.key",
        )
        self._run("kube-scheduler", identity, "--leader-elect=false")

    def _containers(self) -> None:
        layout = self._layout
        networks = layout.folder / "cni"
        networks.mkdir()
        (networks / "10-pods.conflist").write_text(json.dumps(_CNI))
        # restrict_oom_score_adj: machines without CAP_SYS_RESOURCE can't lower a score.
        configuration = layout.folder / "containerd.toml"
        configuration.write_text(
            f"""version = 3
root = "{layout.folder}/containerd"
state = "{layout.folder}/containerd-state"
[grpc]
address = "{layout.containerd_socket}"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "{self._sandbox_image}"
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
disable_hugetlb_controller = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["/usr/lib/cni"]
conf_dir = "{networks}"
"""
        )
        self._run("containerd", "-c", configuration)
        self._wait("containerd", layout.containerd_socket.exists)

    def _kubelet(self) -> None:
        layout, pki = self._layout, self._layout.certificates
        configuration = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": f"{pki}/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": f"{pki}/kubelet.crt",
            "tlsPrivateKeyFile": f"{pki}/kubelet.key",
            "containerRuntimeEndpoint": f"unix://{layout.containerd_socket}",
            "cgroupDriver": "cgroupfs",
            "failCgroupV1": False,
            "failSwapOn": False,
            # As restrict_oom_score_adj above.
            "featureGates": {"KubeletInUserNamespace": True},
            "clusterDNS": [services.DNS_ADDRESS],
            "clusterDomain": services.DOMAIN,
            "enforceNodeAllocatable": [],
            "evictionHard": {"nodefs.available": "1%"},
            "localStorageCapacityIsolation": False,
            "podLogsDir": str(layout.folder / "pod-logs"),
        }
        file = layout.folder / "kubelet.json"
        file.write_text(json.dumps(configuration))
        self._run(
            "kubelet",
            f"--config={file}",
            f"--kubeconfig={pki}/kubelet.conf",
            f"--hostname-override={NODE}",
            f"--node-ip={API_ADDRESS}",
            f"--root-dir={layout.folder}/kubelet",
        )

    def _services(self) -> None:
        layout = self._layout
        corefile = layout.folder / "Corefile"
        corefile.write_text(services.corefile(layout.kubeconfig))
        self._run("coredns", "-conf", corefile)
        self._run("kube-proxy", f"--kubeconfig={layout.kubeconfig}", *services.PROXY_OPTIONS)
        applied = ("apply", "--server-side", "-f", "-")
        self._wait("coredns", lambda: self._kubectl(*applied, stdin=services.dns_service()) is not None)

    def _wait_for_the_node(self) -> None:
        path = "{.items[*].status.conditions[?(@.type=='Ready')].status}"
        self._wait("kubelet", lambda: self._kubectl("get", "nodes", "-o", f"jsonpath={path}") == "True")
        self._wait(
            "kube-controller-manager", lambda: self._kubectl("get", "serviceaccount", "default") is not None
        )
        self._wait("kube-proxy", lambda: _resolves(services.API_NAME))

    def _run(self, program: str, *arguments: Argument) -> None:
        environment = {**os.environ, "PATH": f"{self._layout.path}:{os.environ['PATH']}"}
        with (self._layout.logs / program).open("wb") as log:
            command = [str(self._layout.program(program)), *map(str, arguments)]
            self._parts[program] = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def _wait(self, name: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + READY_SECONDS
        while not condition():
            ended = [part for part, process in self._parts.items() if process.poll() is not None]
            if ended or time.monotonic() > end:
                log = last_lines(self._layout.logs / (ended or [name])[0])
                what = f"{ended[0]} ended" if ended else f"{name} is not ready"
                raise DevError(f"{what}; the end of its log:\n{log}")
            time.sleep(0.2)

    def _kubectl(self, *arguments: str, stdin: str = "") -> str | None:
        program = str(self._layout.program("kubectl"))
        command = [program, f"--kubeconfig={self._layout.kubeconfig}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None


def _call(*command: Argument) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"{' '.join(map(str, command))} failed: {done.stderr.strip()}")


def _resolves(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except socket.gaierror:
        return False
    return True


def _reap() -> None:
    """As the namespace's first process it inherits every orphan, and waits for all of them until it is killed."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            time.sleep(1)


if __name__ == "__main__":
    Node(Layout.of(Path(sys.argv[1])), sys.argv[2]).start()
    _reap()
