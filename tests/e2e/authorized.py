"""When a service account may do what its roles say: a moment after they are written."""

from __future__ import annotations

from e2e.api import Api, Object
from e2e.waiting import wait_for

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def wait_until_allowed(
    api: Api, namespace: str, account: str, rule: Object, *, inside: str | None = None
) -> None:
    """Until the account may do, in its own namespace or another, the first thing its role allows."""
    resource, _, subresource = rule["resources"][0].partition("/")
    asked = {
        "namespace": inside or namespace,
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
        "verb": rule["verbs"][0],
        "name": rule.get("resourceNames", [""])[0],
    }
    spec = {"user": f"system:serviceaccount:{namespace}:{account}", "resourceAttributes": asked}

    def allowed() -> bool:
        return bool(api.create(REVIEWS, {"spec": spec})["status"]["allowed"])

    wait_for(allowed, saying=f"{spec['user']} to be allowed what its role says: {asked}")


def wait_until_reader(api: Api, namespace: str, account: str) -> None:
    """Until the account may read whose client certificates the cluster trusts."""
    rule = {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["extension-apiserver-authentication"],
        "verbs": ["get"],
    }
    wait_until_allowed(api, namespace, account, rule, inside="kube-system")
