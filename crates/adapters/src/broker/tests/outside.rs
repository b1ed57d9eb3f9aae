use super::*;

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    pairs
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .collect()
}

#[test]
fn a_call_goes_through_the_users_proxy_unless_its_host_is_an_exception() {
    let proxy = Model::answering("HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n");
    let address = format!("http://{}", proxy.address);
    let through = |upstream: &str| {
        let env = variables(&[("HTTPS_PROXY", &address), ("NO_PROXY", "direct.invalid")]);
        let broker = start(
            Dialect::OpenAi,
            upstream,
            &Outside::of(&env),
            Box::new(|_| ControlFlow::Continue(())),
        );
        bearer(&broker, "POST /responses", "{}")
    };
    let answer = through("https://direct.invalid");
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(proxy.asked.try_recv().is_err(), "the exception was ignored");
    through("https://model.invalid");
    let asked = proxy.asked();
    assert!(asked.starts_with("CONNECT model.invalid:443 "), "{asked}");
    assert!(!asked.contains(REAL), "{asked}");
}

/// A server with a certificate that nobody signed. It ends when dropped.
struct Tls {
    child: std::process::Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Tls {
    /// Starts the server; `None` if openssl is not installed.
    #[expect(
        clippy::disallowed_methods,
        reason = "a server for a test, ended with it"
    )]
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let settings = "[req]\ndistinguished_name=dn\nx509_extensions=ext\nprompt=no\n[dn]\n\
                        CN=localhost\n[ext]\nsubjectAltName=DNS:localhost\n\
                        basicConstraints=critical,CA:FALSE\n";
        std::fs::write(folder.path().join("settings"), settings).unwrap();
        let openssl = |args: &str| {
            let mut command = std::process::Command::new("openssl");
            command.current_dir(folder.path()).args(args.split(' '));
            command.stdin(Stdio::null()).stderr(Stdio::null());
            command
        };
        let made = openssl(
            "req -x509 -config settings -newkey rsa:2048 -nodes -keyout key -out certificate -days 2",
        );
        let is_made = { made }.status().ok()?.success();
        assert!(is_made, "openssl made no certificate");
        let mut serving = openssl("s_server -accept 127.0.0.1:0 -cert certificate -key key -www");
        let mut child = serving.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ACCEPT") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it does not serve");
        }
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        // It keeps printing a message for each connection.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Some(Self {
            child,
            folder,
            port,
        })
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_certificate_of_the_model_is_verified_with_those_that_the_user_trusts() {
    let Some(server) = Tls::start() else { return };
    let own = server.folder.path().join("certificate");
    let own = own.to_str().unwrap();
    for (variables, status) in [
        (vec![], "502"),
        (vec![("SSL_CERT_FILE", own)], "200"),
        (vec![("NODE_EXTRA_CA_CERTS", own)], "200"),
        (vec![("SSL_CERT_FILE", "/dev/null")], "502"),
    ] {
        let outside = Outside::of(&self::variables(&variables));
        let upstream = format!("https://localhost:{}", server.port);
        let broker = start(
            Dialect::OpenAi,
            &upstream,
            &outside,
            Box::new(|_| ControlFlow::Continue(())),
        );
        let answer = bearer(&broker, "GET /models", "");
        assert_eq!(&answer[9..12], status, "{variables:?}: {answer}");
    }
}
