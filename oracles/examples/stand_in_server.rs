//! A server that looks like llama-server and misbehaves on request: `--stand-in FAULT`.
//!
//! Tests of launching use it; it knows nothing about language models.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// The command line as `--key value` pairs.
fn arguments() -> BTreeMap<String, String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut pairs = BTreeMap::new();
    for (index, word) in words.iter().enumerate() {
        if let Some(key) = word.strip_prefix("--") {
            pairs.insert(key.to_owned(), words.get(index + 1).cloned().unwrap_or_default());
        }
    }
    pairs
}

fn main() -> io::Result<ExitCode> {
    let arguments = arguments();
    let get = |key: &str| arguments.get(key).cloned().unwrap_or_default();
    let fault = get("stand-in");
    let mut out = io::stdout();
    if arguments.contains_key("version") {
        writeln!(out, "version: 1.0 (build 1, commit 0c1e570)\nbuilt with nothing")?;
        return Ok(ExitCode::SUCCESS);
    }
    if fault == "die-at-start" {
        writeln!(out, "stand-in: cannot load the model")?;
        return Ok(ExitCode::from(7));
    }
    let extra = if fault == "avx512" { "AVX512 = 1 | " } else { "" };
    let context = if fault == "context" { "17".to_owned() } else { get("ctx-size") };
    let threads = get("threads");
    write!(
        out,
        "0 I cmn: system_info: n_threads = {threads} (n_threads_batch = {threads}) / 2 | CPU : \
         SSE3 = 1 | SSSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | BMI2 = 1 | {extra}\
         LLAMAFILE = 1 | OPENMP = 1 | REPACK = 1 | \n\
         0 I llama_context: n_ctx                 = {context}\n\
         0 I llama_context: n_batch               = {}\n\
         0 I llama_context: n_ubatch              = {}\n\
         0 I llama_context: flash_attn            = auto\n\
         0 I resolve_fused_ops: Flash Attention enabled\n\
         0 I llama_kv_cache: size =   90.00 MiB, K (f16):   45.00 MiB, V (f16):   45.00 MiB\n",
        get("batch-size"),
        get("ubatch-size"),
    )?;
    if fault == "grandchild" {
        let child = Command::new("sleep").arg("1000").spawn()?;
        writeln!(out, "grandchild {}", child.id())?;
    }
    out.flush()?;
    let listener = TcpListener::bind(format!("127.0.0.1:{}", get("port")))?;
    let commit = if fault == "commit" { "badc0de" } else { "0c1e570" };
    let props = format!(
        r#"{{"model_path": {:?}, "total_slots": 1, "build_info": "b1-{commit}", "model_ftype": "F32"}}"#,
        get("model")
    );
    for stream in listener.incoming() {
        if let Some(code) = answer(stream?, &fault, &props)? {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Answers one request; the exit code when the fault is to die now.
fn answer(mut stream: TcpStream, fault: &str, props: &str) -> io::Result<Option<ExitCode>> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let path = first.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let body = String::from_utf8_lossy(&body).into_owned();
    let warming = body.contains(r#""prompt":[0]"#);
    let (status, text) = match path.as_str() {
        "/health" if fault == "never-ready" => (503, "{}".to_owned()),
        "/health" => (200, r#"{"status":"ok"}"#.to_owned()),
        "/props" => (200, props.to_owned()),
        "/v1/models" => (200, r#"{"data":[{"meta":{"n_vocab":3}}]}"#.to_owned()),
        "/tokenize" => (200, r#"{"tokens":[1,2]}"#.to_owned()),
        "/detokenize" => (400, r#"{"error":{"message":"no such token"}}"#.to_owned()),
        "/completion" if fault == "die-while-answering" && !warming => {
            writeln!(io::stdout(), "stand-in: out of memory")?;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"tokens\":[")?;
            return Ok(Some(ExitCode::from(9)));
        }
        "/completion" if fault == "hang" && !warming => {
            std::thread::sleep(Duration::from_mins(1));
            return Ok(None);
        }
        "/completion" => (
            200,
            r#"{"tokens":[2],"content":"c","stop_type":"limit","truncated":false,
                "tokens_evaluated":1,"timings":{"cache_n":0}}"#
                .to_owned(),
        ),
        _ => (404, "{}".to_owned()),
    };
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )?;
    Ok(None)
}
