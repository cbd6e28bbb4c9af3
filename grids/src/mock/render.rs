//! The bytes of a step.

use std::fmt::Write as _;
use std::io::Write as _;

use super::ask::Ask;
use super::mode::{BREAKS_AFTER, GIANT_BYTES, Mode};
use super::script::{HEAD_PARTS, Part};
use crate::load::request::Dialect;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";
/// The first token id of every answer; the others follow.
pub const FIRST_ID: u32 = 1000;
/// The message of every error.
pub const MESSAGE: &str = "the mock was told to fail";
/// The text of a token.
pub const TEXT: &str = " tok";
/// The text of a token where characters have several bytes.
pub const WIDE_TEXT: &str = " \u{e9}\u{1f600}";

/// Appends the bytes of a part.
pub fn render(mode: Mode, ask: &Ask, part: Part, out: &mut Vec<u8>) {
    match part {
        Part::Head => out.extend_from_slice(HEAD.as_bytes()),
        Part::HeadPart(index) => {
            let cut = |index: u32| HEAD.len() * index as usize / HEAD_PARTS as usize;
            out.extend_from_slice(&HEAD.as_bytes()[cut(index)..cut(index + 1)]);
        }
        Part::Failure(status) => failure(status, MESSAGE, out),
        Part::End => out.extend_from_slice(b"0\r\n\r\n"),
        Part::Reset | Part::Close => {}
        _ => {
            let mut event = String::with_capacity(256);
            write_event(mode, ask, part, &mut event);
            chunk(mode, event.as_bytes(), out);
        }
    }
}

/// A whole response with an error as JSON.
pub fn failure(status: u16, message: &str, out: &mut Vec<u8>) {
    let body = format!(
        "{{\"error\":{{\"message\":{},\"type\":\"mock\",\"code\":{status}}}}}",
        serde_json::Value::from(message)
    );
    json(status, &body, out);
}

/// A whole response with a JSON body.
pub fn json(status: u16, body: &str, out: &mut Vec<u8>) {
    let _ = write!(
        out,
        "HTTP/1.1 {status} Mock\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
}

/// An event in the transfer coding.
fn chunk(mode: Mode, event: &[u8], out: &mut Vec<u8>) {
    let size = match mode {
        Mode::SplitBytes => 1,
        Mode::SplitUtf8 => 5,
        _ => event.len(),
    };
    for part in event.chunks(size.max(1)) {
        // Writing to memory does not fail.
        let _ = write!(out, "{:x}\r\n", part.len());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
}

/// Bytes of one write, where a mode cuts them.
pub fn write_bytes(mode: Mode) -> Option<usize> {
    match mode {
        Mode::SplitBytes => Some(1),
        Mode::SplitUtf8 => Some(3),
        _ => None,
    }
}

fn write_event(mode: Mode, ask: &Ask, part: Part, event: &mut String) {
    let end = if mode == Mode::SplitBytes { "\r\n" } else { "\n" };
    match part {
        Part::Comment => {
            let _ = write!(event, ": ping{end}{end}");
            return;
        }
        Part::Done => event.push_str("data: [DONE]"),
        Part::Error => {
            let _ = write!(event, "data: {{\"error\":{{\"message\":\"{MESSAGE}\",\"code\":500}}}}");
        }
        Part::Role => event.push_str(
            "data: {\"id\":\"cmpl-mock\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"finish_reason\":null}]}",
        ),
        Part::Usage(_) | Part::Empty | Part::Tokens { .. } => match ask.dialect {
            Dialect::Completions => write_completion(mode, ask, part, event),
            Dialect::LlamaServer => write_own(mode, ask, part, event),
        },
        _ => {}
    }
    event.push_str(end);
    event.push_str(end);
}

fn write_text(mode: Mode, part: Part, event: &mut String) {
    let Part::Tokens { count, total, .. } = part else { return };
    if mode == Mode::Giant && total == BREAKS_AFTER {
        event.extend(std::iter::repeat_n('x', GIANT_BYTES));
        return;
    }
    for _ in 0..count {
        event.push_str(if mode == Mode::SplitUtf8 { WIDE_TEXT } else { TEXT });
    }
}

fn write_ids(part: Part, event: &mut String) {
    let Part::Tokens { count, total, .. } = part else { return event.push_str("[]") };
    for token in total - count..total {
        let _ =
            write!(event, "{}{}", if token == total - count { '[' } else { ',' }, FIRST_ID + token);
    }
    event.push(']');
}

fn write_completion(mode: Mode, ask: &Ask, part: Part, event: &mut String) {
    event.push_str(
        "data: {\"id\":\"cmpl-mock\",\"object\":\"text_completion\",\"created\":1700000000,\"model\":\"mock\",\"choices\":[",
    );
    if !matches!(part, Part::Usage(_)) {
        event.push_str("{\"index\":0,\"text\":\"");
        write_text(mode, part, event);
        event.push_str("\",\"logprobs\":null,\"finish_reason\":");
        event.push_str(match part {
            Part::Tokens { is_last: true, .. } if mode == Mode::EarlyEos => "\"stop\"",
            Part::Tokens { is_last: true, .. } => "\"length\"",
            _ => "null",
        });
        event.push_str(",\"stop_reason\":null");
        if ask.wants_ids {
            event.push_str(",\"token_ids\":");
            write_ids(part, event);
        }
        event.push('}');
    }
    event.push(']');
    let usage = match (mode, part) {
        (_, Part::Usage(total)) | (Mode::UsageRunning, Part::Tokens { total, .. }) => Some(total),
        (Mode::UsageLast, Part::Tokens { total, is_last: true, .. }) if ask.wants_usage => {
            Some(total)
        }
        _ => None,
    };
    if let Some(total) = usage {
        let prompt = ask.prompt_tokens;
        let _ = write!(
            event,
            ",\"usage\":{{\"prompt_tokens\":{prompt},\"total_tokens\":{},\"completion_tokens\":{total},\"prompt_tokens_details\":null}}",
            prompt + total
        );
    }
    event.push('}');
}

/// llama-server's own form, where every event has counts and the last one no text.
fn write_own(mode: Mode, ask: &Ask, part: Part, event: &mut String) {
    event.push_str("data: {\"index\":0,\"content\":\"");
    write_text(mode, part, event);
    event.push_str("\",\"tokens\":");
    if ask.wants_ids {
        write_ids(part, event);
    } else {
        event.push_str("[]");
    }
    let (stop, total) = match part {
        Part::Usage(total) if mode == Mode::EarlyEos => ("true,\"stop_type\":\"eos\"", total),
        Part::Usage(total) => ("true,\"stop_type\":\"limit\"", total),
        Part::Tokens { total, .. } => ("false", total),
        _ => ("false", 0),
    };
    let _ = write!(
        event,
        ",\"stop\":{stop},\"id_slot\":0,\"tokens_predicted\":{total},\"tokens_evaluated\":{}}}",
        ask.prompt_tokens
    );
}
