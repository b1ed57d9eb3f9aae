use super::*;

/// A server that accepts one key and reports the keys it receives.
fn only_with(key: &'static str) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, shown) = channel();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let asked = request(&stream);
            let line = asked
                .lines()
                .find(|line| line.starts_with("authorization: "));
            let line = line.unwrap_or_default();
            let answer = if line.ends_with(&format!(" {key}")) {
                OK
            } else {
                "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n"
            };
            (&stream).write_all(answer.as_bytes()).unwrap();
            if tell.send(line.to_owned()).is_err() {
                return;
            }
        }
    });
    (address, shown)
}

#[test]
fn a_refused_key_is_replaced_once_by_the_one_that_the_user_has_now() {
    let as_now = |upstream: &str, real: &str| Grant {
        real: real.to_owned(),
        ..grant(upstream)
    };
    let other_account = |upstream: &str| Grant {
        headers: Vec::new(),
        ..as_now(upstream, "sk-renewed")
    };
    type Now<'a> = &'a dyn Fn(&str) -> Vec<Grant>;
    let cases: [(Now<'_>, &str, usize); 5] = [
        (&|at| vec![as_now(at, "sk-renewed")], "200", 2),
        (&|at| vec![as_now(at, REAL)], "401", 1),
        (&|at| vec![as_now(at, "sk-still-wrong")], "401", 2),
        (&|at| vec![other_account(at)], "401", 1),
        (&|_| Vec::new(), "401", 1),
    ];
    for (now, status, calls) in cases {
        let (upstream, shown) = only_with("sk-renewed");
        let (listener, port) = Broker::bind().unwrap();
        let grants = now(&upstream);
        let renew = Box::new(move || grants.clone());
        let on_usage = Box::new(|_| ControlFlow::Continue(()));
        let old = [grant(&upstream)];
        let outside = Outside::default();
        let dialect = Dialect::OpenAi;
        let broker = Broker::start(listener, dialect, &old, &outside, renew, on_usage).unwrap();
        let running = Running { broker, port };
        let answer = bearer(&running, "POST /responses", "{}");
        assert_eq!(&answer[9..12], status, "{answer}");
        let wait = || shown.recv_timeout(Duration::from_secs(20)).unwrap();
        let all: Vec<String> = (0..calls).map(|_| wait()).collect();
        assert!(all[0].ends_with(REAL), "{all:?}");
        // The next call uses the new key immediately.
        if status == "200" {
            bearer(&running, "POST /responses", "{}");
            assert!(wait().ends_with("sk-renewed"));
        }
        assert!(shown.try_recv().is_err(), "it was asked too often");
    }
}
