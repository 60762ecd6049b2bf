"""The extension points: their names, what they are called with, and whether they may await.

The words are kube-scheduler's, in snake case; the transformers are Koordinator's, the session hooks
KAI's. A configuration enables a plugin at kube-scheduler's points; a point that belongs to one of
them (a transformer, an extension) is active with it.
"""

from __future__ import annotations

import msgspec


class Point(msgspec.Struct, frozen=True):
    """One method a plugin may have."""

    name: str
    parameters: tuple[str, ...]
    config: str = ""  # kube-scheduler's name of the point it is enabled by; "" = active once enabled anywhere
    may_await: bool = False


def _point(name: str, parameters: str, config: str = "", *, may_await: bool = False) -> Point:
    return Point(name, tuple(parameters.split()), config, may_await)


POINTS: dict[str, Point] = {
    point.name: point
    for point in (
        # queueing
        _point("pre_enqueue", "pod", "preEnqueue"),
        _point("less", "first second", "queueSort"),
        _point("sort_key", "queued", "queueSort"),
        _point("events", ""),
        # following what the API server says
        _point("pod_seen", "pod"),
        _point("pod_bound", "pod node_name"),
        _point("pod_gone", "pod"),
        _point("object_seen", "before after"),
        _point("follow_up", ""),
        _point("wake_at", ""),
        # pods tried together
        _point("order_of", "pod"),
        _point("domains_of_nodes", ""),
        _point("group", "pod"),
        _point("plan_group", "cycle group room", "preFilter"),
        _point("post_filter_group", "cycle group trial", "postFilter"),
        # scheduling cycle
        _point("pre_filter", "cycle pod", "preFilter"),
        _point("add_pod", "cycle pod added node", "preFilter"),
        _point("remove_pod", "cycle pod removed node", "preFilter"),
        _point("filter", "cycle pod node", "filter"),
        _point("filter_nodes", "cycle pod nodes", "filter"),
        _point("domain", "cycle pod", "filter"),
        _point("post_filter", "cycle pod statuses", "postFilter"),
        _point("may_evict", "pod victim"),
        _point("pre_score", "cycle pod nodes", "preScore"),
        _point("score", "cycle pod node", "score"),
        _point("score_nodes", "cycle pod nodes", "score"),
        _point("normalize", "values", "score"),
        _point("reserve", "cycle pod node_name", "reserve"),
        _point("unreserve", "cycle pod node_name", "reserve"),
        _point("permit", "cycle pod node_name", "permit"),
        # binding cycle
        _point("pre_bind_pre_flight", "cycle pod node_name", "preBind"),
        _point("pre_bind", "cycle pod node_name", "preBind", may_await=True),
        _point("bind", "cycle pod node_name", "bind", may_await=True),
        _point("post_bind", "cycle pod node_name", "postBind", may_await=True),
        # transformers and what Koordinator adds
        _point("before_pre_filter", "cycle pod", "preFilter"),
        _point("after_pre_filter", "cycle pod node_names", "preFilter"),
        _point("before_filter", "cycle pod node", "filter"),
        _point("before_score", "cycle pod nodes", "score"),
        _point("after_post_filter", "cycle pod statuses status", "postFilter"),
        _point("pre_restore_reservation", "cycle pod"),
        _point("restore_reservation", "cycle pod matched unmatched node"),
        _point("allocate", "cycle pod node"),
        _point("resize_pod", "cycle pod node_name"),
        _point("pre_bind_patch", "cycle pod node_name", "preBind"),
        _point("next_pod", ""),
        _point("find_one_node", "cycle pod node_names"),
        # sessions
        _point("on_session_open", "ssn"),
        _point("on_session_close", "ssn"),
    )
}
