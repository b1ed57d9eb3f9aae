//! Tests the scripted model over plain sockets, without any CLI.

use drive_testkit::model_server::{
    Call, Fault, ModelServer, Protocol, Purpose, Script, Times, Turn, Usage,
};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PROTOCOLS: [Protocol; 3] = [Protocol::Anthropic, Protocol::Gemini, Protocol::Responses];
/// Only reached if the server hangs by mistake.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn the_history_of_a_request_chooses_the_turn() {
    for protocol in PROTOCOLS {
        let script = Script::new([Turn::text("FIRST"), Turn::text("SECOND")]);
        let server = ModelServer::start(script).unwrap();
        let said: Vec<bool> = [(0, "FI"), (1, "SE"), (2, "do"), (1, "SE"), (0, "FI")]
            .map(|(turns, word)| {
                // A text comes in three pieces; this is the first.
                post(&server, protocol, "task", turns).contains(&format!("\"{word}\""))
            })
            .to_vec();
        assert_eq!(said, vec![true; 5], "{protocol:?}");
        let purposes: Vec<Purpose> = server.requests().iter().map(|r| r.purpose).collect();
        assert_eq!(purposes, [0, 1, 2, 1, 0].map(Purpose::Turn));
    }
}

#[test]
fn a_marker_in_the_first_prompt_chooses_the_script() {
    for protocol in PROTOCOLS {
        let script = Script::new([Turn::text("plain")]).when("red", [Turn::text("RED!")]);
        let server = ModelServer::start(script).unwrap();
        let answers = [
            post(&server, protocol, "a red task", 0),
            post(&server, protocol, "a task", 0),
        ];
        assert_eq!(
            answers.map(|answer| answer.contains("RE")),
            [true, false],
            "{protocol:?}"
        );
    }
}

#[test]
fn a_held_answer_comes_once_its_file_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let script = Script::new([Turn::text("WENT").held_until(&go)]);
    let server = ModelServer::start(script).unwrap();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| post(&server, Protocol::Gemini, "task", 0));
        while server.turns().is_empty() {
            std::thread::yield_now();
        }
        assert!(!asked.is_finished());
        std::fs::create_dir(&go).unwrap();
        assert!(asked.join().unwrap().contains("WE"));
    });
}

#[test]
fn a_wish_becomes_the_protocols_own_call() {
    let wishes = Turn::write("/w/a.txt", "one\n").and(Call::Run {
        command: "ls".to_owned(),
    });
    let server = ModelServer::start(Script::new([wishes])).unwrap();
    let names = PROTOCOLS.map(|protocol| {
        let answer = post(&server, protocol, "task", 0);
        let names = [
            "Write",
            "Bash",
            "write_file",
            "run_shell_command",
            "apply_patch",
            "exec_command",
        ];
        let used = names
            .into_iter()
            .filter(|name| answer.contains(&format!("\"{name}\"")));
        used.collect::<Vec<_>>()
    });
    assert_eq!(
        names,
        [
            vec!["Write", "Bash"],
            vec!["write_file", "run_shell_command"],
            vec!["apply_patch", "exec_command"],
        ]
    );
}

#[test]
fn token_counts_are_reported_as_scripted() {
    let usage = Usage {
        input: 7001,
        cached: 302,
        output: 53,
    };
    let server = ModelServer::start(Script::new([Turn::text("x").usage(usage)])).unwrap();
    let expected = [
        [
            "\"input_tokens\":7001",
            "\"cache_read_input_tokens\":302",
            "\"output_tokens\":53",
        ],
        [
            "\"promptTokenCount\":7303",
            "\"cachedContentTokenCount\":302",
            "\"candidatesTokenCount\":53",
        ],
        [
            "\"input_tokens\":7303",
            "\"cached_tokens\":302",
            "\"output_tokens\":53",
        ],
    ];
    for (protocol, counts) in PROTOCOLS.into_iter().zip(expected) {
        let answer = post(&server, protocol, "task", 0);
        assert_eq!(
            counts.map(|count| answer.contains(count)),
            [true; 3],
            "{answer}"
        );
    }
}

#[test]
fn an_error_comes_with_its_status_and_its_pause_and_passes() {
    let fault = Fault::Status {
        code: 429,
        retry_after: Some(7),
    };
    for protocol in PROTOCOLS {
        let turn = Turn::text("well").behind(fault, Times::First(1));
        let server = ModelServer::start(Script::new([turn])).unwrap();
        let first = post(&server, protocol, "task", 0);
        assert!(first.starts_with("HTTP/1.1 429 "), "{first}");
        assert!(first.contains("retry-after: 7\r\n"), "{first}");
        let second = post(&server, protocol, "task", 0);
        assert!(second.starts_with("HTTP/1.1 200 "), "{second}");
    }
}

#[test]
fn a_broken_stream_lacks_its_end_and_an_early_one_lacks_its_last_event() {
    for protocol in PROTOCOLS {
        let whole = post_faulty(protocol, None);
        assert!(whole.ends_with("0\r\n\r\n"), "{whole}");
        let dropped = post_faulty(protocol, Some(Fault::DropMidEvent));
        assert!(!dropped.ends_with("0\r\n\r\n"), "{dropped}");
        let early = post_faulty(protocol, Some(Fault::EndEarly));
        assert!(
            early.ends_with("0\r\n\r\n") && early.len() < whole.len(),
            "{early}"
        );
        let malformed = post_faulty(protocol, Some(Fault::Malformed));
        assert!(malformed.contains("not json"), "{malformed}");
    }
}

#[test]
fn a_flood_is_as_long_as_scripted_and_a_drip_is_the_whole_answer() {
    for protocol in PROTOCOLS {
        let flood = Fault::Flood {
            bytes: 3_000_000,
            pause: Duration::ZERO,
        };
        let answer = post_faulty(protocol, Some(flood));
        assert!(answer.matches('x').count() > 3_000_000, "{protocol:?}");
        let drip = post_faulty(
            protocol,
            Some(Fault::Drip {
                pause: Duration::ZERO,
            }),
        );
        assert!(drip.ends_with("0\r\n\r\n"), "{drip}");
    }
}

#[test]
fn a_hang_lasts_until_the_server_is_dropped() {
    let hangs = [
        (Fault::HangBeforeHeaders, false),
        (Fault::HangAfterHeaders, true),
        (Fault::HangMidStream, true),
    ];
    for protocol in PROTOCOLS {
        for (fault, has_headers) in hangs {
            let server = ModelServer::start(Script::new([Turn::fault(fault)])).unwrap();
            let mut stream = send(&server, protocol, "task", 0);
            if has_headers {
                let mut first = [0; 15];
                stream.read_exact(&mut first).unwrap();
                assert_eq!(&first, b"HTTP/1.1 200 OK");
            } else {
                while server.requests().is_empty() {
                    std::thread::yield_now();
                }
            }
            let address = server.address();
            drop(server);
            // The connection ends with a close or a reset, and then nothing listens.
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            assert!(!rest.ends_with(b"0\r\n\r\n"), "{fault:?}");
            assert!(TcpStream::connect(address).is_err(), "{fault:?}");
        }
    }
}

#[test]
fn calls_on_the_side_use_no_turn() {
    let server = ModelServer::start(Script::new([Turn::text("scripted turn")])).unwrap();
    let calls = [
        ("/v1/messages/count_tokens", json!({"messages": []})),
        (
            "/v1/messages",
            json!({"messages": [{"role": "user", "content": "title?"}]}),
        ),
        ("/v1beta/models/m:countTokens", json!({"contents": []})),
        (
            "/v1beta/models/m:generateContent",
            json!({
                "contents": [{"role": "user", "parts": [{"text": "which?"}]}],
                "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {
                    "type": "object", "properties": {"model_choice": {"type": "string", "enum": ["pro"]}},
                }},
            }),
        ),
        (
            "/v1/responses",
            json!({"input": [{"type": "message", "role": "user", "content": []}]}),
        ),
    ];
    for (path, body) in calls {
        let answer = raw(&server, path, &body);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        assert!(!answer.contains("scripted turn"), "{path}: {answer}");
        if path.ends_with(":generateContent") {
            assert!(answer.contains(r#"{\"model_choice\":\"pro\"}"#), "{answer}");
        }
    }
    let purposes: Vec<Purpose> = server.requests().iter().map(|r| r.purpose).collect();
    assert_eq!(purposes, vec![Purpose::Side; 5]);
}

#[test]
fn what_is_no_request_of_a_model_is_refused() {
    let server = ModelServer::start(Script::default()).unwrap();
    for path in [
        "/",
        "/v1/messages",
        "/v1beta/models/m:unknown",
        "/v1/responses",
    ] {
        let answer = raw(&server, path, &json!("nonsense"));
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
    }
    assert!(server.turns().is_empty());
}

#[test]
fn keys_are_not_recorded() {
    let server = ModelServer::start(Script::default()).unwrap();
    post(&server, Protocol::Anthropic, "task", 0);
    let request = &server.requests()[0];
    assert_eq!(request.headers.get("x-api-key"), None);
    assert_eq!(
        request.headers.get("x-plain").map(String::as_str),
        Some("seen")
    );
}

fn post_faulty(protocol: Protocol, fault: Option<Fault>) -> String {
    let turn = Turn::text("a text of some length");
    let turn = match fault {
        Some(fault) => turn.behind(fault, Times::Always),
        None => turn,
    };
    let server = ModelServer::start(Script::new([turn])).unwrap();
    post(&server, protocol, "task", 0)
}

fn post(server: &ModelServer, protocol: Protocol, prompt: &str, turns: usize) -> String {
    read(send(server, protocol, prompt, turns))
}

fn raw(server: &ModelServer, path: &str, body: &Value) -> String {
    read(request(server, path, body))
}

/// Sends a request with this many turns of the model in its history.
fn send(server: &ModelServer, protocol: Protocol, prompt: &str, turns: usize) -> TcpStream {
    match protocol {
        Protocol::Anthropic => {
            let mut messages = vec![json!({"role": "user", "content": prompt})];
            for _ in 0..turns {
                messages.push(json!({"role": "assistant", "content": "said"}));
                messages.push(json!({"role": "user", "content": "go on"}));
            }
            let tools = [json!({"name": "Write"})];
            let body = json!({"model": "m", "stream": true, "messages": messages, "tools": tools});
            request(server, "/v1/messages?beta=true", &body)
        }
        Protocol::Gemini => {
            let words = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
            let mut contents = vec![words("user", prompt)];
            for _ in 0..turns {
                contents.push(words("model", "said"));
                contents.push(words("user", "go on"));
            }
            let tools = [json!({"functionDeclarations": [{"name": "write_file"}]})];
            let body = json!({"contents": contents, "tools": tools});
            request(
                server,
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                &body,
            )
        }
        Protocol::Responses => {
            let words = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "text", "text": text}]});
            let mut input = vec![words("user", prompt)];
            for _ in 0..turns {
                input.push(words("assistant", "said"));
                input.push(words("user", "go on"));
            }
            let tools = ["apply_patch", "exec_command"].map(|name| json!({"name": name}));
            let body = json!({"model": "m", "stream": true, "input": input, "tools": tools});
            request(server, "/v1/responses", &body)
        }
    }
}

fn request(server: &ModelServer, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: model\r\nconnection: close\r\nx-api-key: k\r\nx-plain: seen\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

fn read(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A connection that breaks on purpose still delivered its first bytes.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}
