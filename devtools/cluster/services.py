"""How a pod finds another one by name: the cluster's DNS and what leads to it, as settings of the programs that do it."""

from __future__ import annotations

import json
from pathlib import Path

from cluster.layout import API_ADDRESS, NODE, POD_NET, SERVICE_NET

DOMAIN = "cluster.local"
DNS_ADDRESS = f"{SERVICE_NET}.10"
API_NAME = f"kubernetes.default.svc.{DOMAIN}"

# For the node's own programs; kubelet gives pods the same server, and the names to search beside it.
RESOLV_CONF = f"nameserver {DNS_ADDRESS}\noptions timeout:1\n"

# Without the limits that kube-proxy puts on the kernel's table of connections, which only the machine's owner may change.
PROXY_OPTIONS = (
    "--proxy-mode=iptables",
    f"--hostname-override={NODE}",
    f"--cluster-cidr={POD_NET}.0/24",
    *(f"--conntrack-{limit}=0" for limit in ("max-per-core", "min")),
    *(f"--conntrack-tcp-timeout-{state}=0s" for state in ("established", "close-wait")),
    "--nodeport-addresses=primary",
    "--oom-score-adj=0",
)


def corefile(kubeconfig: Path) -> str:
    """Names outside of the cluster don't exist: nothing leads there, and a question passed on would wait for its answer."""
    return f"""{DOMAIN} in-addr.arpa ip6.arpa {{
    errors
    kubernetes {{
        kubeconfig {kubeconfig}
    }}
}}
. {{
    errors
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


def dns_service() -> str:
    """What leads pods to CoreDNS, which runs on the node beside the API server, and so in no pod that could be selected."""
    metadata = {"name": "kube-dns", "namespace": "kube-system"}
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
    ]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"clusterIP": DNS_ADDRESS, "ports": ports},
    }
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**metadata, "labels": {"kubernetes.io/service-name": metadata["name"]}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [API_ADDRESS], "conditions": {"ready": True}}],
        "ports": ports,
    }
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [service, endpoints]})
