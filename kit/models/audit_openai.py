"""A recorded answer of the Responses API as audit rows.

The final event holds all items; if the stream broke before it, only the items completed by then are known.
"""

from __future__ import annotations

from contracts.transcript import Call
from kit.models.audit_rows import Annotation, Answer, OutputItem, TextPart, ToolCall, as_count, as_text
from kit.models.events import Json, events
from kit.models.prices import Spent

_FINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
_NO_CALLS = frozenset({"message", "reasoning"})


def read(call: Call) -> Answer:
    """The rows of one call."""
    done: list[Json] = []
    response: Json = {}
    for event in events(call):
        if event.get("type") == "response.output_item.done":
            done.append(event["item"])
        elif event.get("type") in _FINAL or event.get("type") == "response.created":
            response = event["response"]
        elif event.get("object") == "response":
            response = event
    output = response.get("output") or done
    items = tuple(_item(item, call) for item in output)
    text = "".join(part.text for item in items for part in item.text_parts if part.part_type == "output_text")
    return Answer(
        items=items,
        response_id=as_text(response.get("id")),
        status=as_text(response.get("status")),
        version=as_text(response.get("model")),
        text=text if response.get("status") == "completed" else None,
        spent=spent(response),
    )


def spent(response: Json) -> Spent | None:
    """The usage of an answer. Only actions `search` count as searches: the tool's other actions are not billed."""
    usage = response.get("usage")
    if not usage:
        return None
    searches = [item for item in response.get("output") or () if item.get("type") == "web_search_call"]
    return Spent(
        input=as_count(usage.get("input_tokens")) or 0,
        output=as_count(usage.get("output_tokens")) or 0,
        total=as_count(usage.get("total_tokens")),
        cached=as_count((usage.get("input_tokens_details") or {}).get("cached_tokens")),
        reasoning=as_count((usage.get("output_tokens_details") or {}).get("reasoning_tokens")),
        searches=sum((item.get("action") or {}).get("type", "search") == "search" for item in searches),
    )


def _item(item: Json, call: Call) -> OutputItem:
    kind, id_, status = str(item.get("type")), as_text(item.get("id")), as_text(item.get("status"))
    both = id_ is not None and status is not None
    tool = None
    if kind not in _NO_CALLS:
        tool = ToolCall(kind, as_text(item.get("call_id")) or id_, status, item, call.completed_at)
    content = item.get("content") or [] if kind == "message" else []
    return OutputItem(
        output_index=0,
        item_type=kind,
        provider_item_id=id_ if both else None,
        item_status=status if both else None,
        text_parts=tuple(_part(index, part) for index, part in enumerate(content)),
        reasoning_summaries=tuple(as_text(each.get("text")) or "" for each in item.get("summary") or ()),
        tool_call=tool,
    )


def _part(index: int, part: Json) -> TextPart:
    kind = str(part.get("type"))
    found = part.get("annotations") or ()
    return TextPart(
        part_index=index,
        part_type=kind,
        text=as_text(part.get("refusal" if kind == "refusal" else "text")) or "",
        annotations=tuple(
            Annotation(
                annotation_index=place,
                annotation_type=str(each.get("type")),
                start_index=as_count(each.get("start_index")),
                end_index=as_count(each.get("end_index")),
                url=as_text(each.get("url")),
                title=as_text(each.get("title")),
                file_id=as_text(each.get("file_id")),
            )
            for place, each in enumerate(found)
        ),
    )
