use super::*;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

#[test]
fn the_tokens_of_an_answer_are_counted_before_the_agent_has_read_it() {
    let body = "data: {\"type\":\"response.completed\",\"response\":{\"usage\":\
                {\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":60},\
                \"output_tokens\":7}}}\n\n";
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let model = Model::answering(&answer);
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = told.clone();
    let upstream = format!("http://{}", model.address);
    let tell = Box::new(move |usage| {
        teller.lock().unwrap().push(usage);
        ControlFlow::Continue(())
    });
    let running = start(Dialect::OpenAi, &upstream, &Outside::default(), tell);
    assert_eq!(running.broker.usage(), Usage::default());
    bearer(&running, "POST /responses", "{}");
    let used = Usage {
        input: 40,
        cached: 60,
        output: 7,
    };
    assert_eq!(running.broker.usage(), used);
    assert_eq!(*told.lock().unwrap(), [used]);
}

/// A budget that is used up at the first token.
fn no_budget() -> OnUsage {
    Box::new(|_| ControlFlow::Break(()))
}

fn usage_answer() -> String {
    let body = "{\"usage\":{\"input_tokens\":100,\"output_tokens\":7}}";
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_used_up_budget_ends_the_calls_under_way_and_refuses_the_next_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", listener.local_addr().unwrap());
    let (tell, asked) = channel();
    std::thread::spawn(move || {
        let accept = || {
            let (stream, _) = listener.accept().unwrap();
            tell.send(request(&stream)).unwrap();
            stream
        };
        let (silent, begun, last) = (accept(), accept(), accept());
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {}\n\n";
        (&begun).write_all(head.as_bytes()).unwrap();
        (&last).write_all(usage_answer().as_bytes()).unwrap();
        // Both connections stay open until the broker has gone.
        let _ = (&silent).read(&mut [0]);
        let _ = (&begun).read(&mut [0]);
    });
    let running = start(Dialect::OpenAi, &upstream, &Outside::default(), no_budget());
    std::thread::scope(|scope| {
        let call = || scope.spawn(|| bearer(&running, "POST /responses", "{}"));
        let wait = || asked.recv_timeout(Duration::from_secs(20)).unwrap();
        let silent = call();
        wait();
        let begun = call();
        wait();
        call();
        wait();
        let silent = silent.join().unwrap();
        assert!(silent.starts_with("HTTP/1.1 403"), "{silent}");
        // The response was cut off: the last chunk is missing.
        let begun = begun.join().unwrap();
        assert!(!begun.ends_with("0\r\n\r\n"), "{begun}");
    });
    let answer = bearer(&running, "POST /responses", "{}");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let reason = "the token budget of this run is used up";
    assert!(answer.contains(reason), "{answer}");
}

/// Waits for another thread.
fn until(mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_tokens_of_an_answer_count_although_the_agent_has_hung_up() {
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let last = "data: {\"response\":{\"usage\":{\"input_tokens\":9000,\"output_tokens\":70}}}\n\n";
    for has_begun in [false, true] {
        let model = Model::start();
        let running = before(&model, Dialect::OpenAi);
        let mut stream = connect(&running);
        let head = format!(
            "POST /responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {DUMMY}\r\n\
             content-length: 42\r\n\r\n{{\"a\": \"{}\"}}",
            "x".repeat(33)
        );
        stream.write_all(head.as_bytes()).unwrap();
        model.asked();
        // Whether it will be answered is still unknown.
        assert_eq!(running.broker.usage(), Usage::default());
        assert_eq!(running.broker.final_usage().input, 10);
        if has_begun {
            model.send(&format!("{events}data: {{}}\n\n"));
            stream.read_exact(&mut [0; 4]).unwrap();
        }
        drop(stream);
        if !has_begun {
            model.send(events);
        }
        // This is more than the buffers between them can hold.
        for _ in 0..64 {
            model.send(&format!("data: {}\n\n", "x".repeat(64 * 1024)));
        }
        model.send(last);
        until(|| running.broker.usage().counted() == 9070);
        assert_eq!(running.broker.final_usage().counted(), 9070);
    }
}

#[test]
fn an_answer_that_names_no_tokens_counts_as_its_request() {
    let body = "x".repeat(400);
    for (line, answer, expected) in [
        ("POST /v1/messages", OK, 100),
        ("POST /v1/messages/count_tokens", OK, 0),
        (
            "POST /v1/messages",
            "HTTP/1.1 529 Busy\r\ncontent-length: 0\r\n\r\n",
            0,
        ),
    ] {
        let model = Model::answering(answer);
        let running = before(&model, Dialect::Anthropic);
        bearer(&running, line, &body);
        until(|| running.broker.final_usage() == running.broker.usage());
        assert_eq!(
            running.broker.usage().counted(),
            expected,
            "{line}: {answer}"
        );
    }
}

#[test]
fn a_call_that_could_hide_its_tokens_is_refused() {
    for (dialect, line, body, reason) in [
        (
            Dialect::Gemini,
            "POST /v1beta/models/pro:generateContent?alt=json&fields=candidates",
            "{}",
            "not fields=candidates",
        ),
        (
            Dialect::OpenAi,
            "POST /responses",
            "{\"background\": true}",
            "in the background",
        ),
    ] {
        let model = Model::start();
        let broker = before(&model, dialect);
        let answer = bearer(&broker, line, body);
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(answer.contains(reason), "{answer}");
        assert!(model.asked.try_recv().is_err(), "the model was asked");
    }
}

#[test]
fn a_run_makes_no_more_calls_than_its_limit() {
    let model = Model::answering(OK);
    let running = before(&model, Dialect::OpenAi);
    let made = shared::MOST_CALLS_OF_RUN - 1;
    running.broker.shared.made.store(made, Ordering::Relaxed);
    let answer = bearer(&running, "GET /models", "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = bearer(&running, "GET /models", "");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(answer.contains("too many calls"), "{answer}");
}
