//! The broker's HTTP client: uses the user's proxy and trusts the user's certificates.

use drive_core::agent::proxy_of;
use drive_core::network::Proxy;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

const CONNECT: Duration = Duration::from_secs(30);
/// How long a model may think before its response, and between two parts of it.
const SILENCE: Duration = Duration::from_secs(15 * 60);
/// The maximum duration of a call.
const CALL: Duration = Duration::from_secs(60 * 60);

/// Where Linux distributions store the machine's trusted certificates.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The user's proxy and certificates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outside {
    /// The address of the proxy, and the exceptions from it.
    proxy: Option<(String, String)>,
    /// Certificates instead of the machine's.
    certificates: Option<PathBuf>,
    /// Additional certificates.
    more_certificates: Option<PathBuf>,
}

impl Outside {
    /// Reads the variables that the agent's program gets.
    pub(crate) fn of(env: &BTreeMap<OsString, OsString>) -> Self {
        let path = |name: &str| env.get(OsStr::new(name)).map(PathBuf::from);
        Self {
            proxy: proxy_of(env).map(|(address, exceptions)| (address.into(), exceptions.into())),
            certificates: path("SSL_CERT_FILE"),
            more_certificates: path("NODE_EXTRA_CA_CERTS"),
        }
    }

    /// A client for one server. It follows no redirects, because the key is only for this server.
    pub(super) fn client(&self, upstream: &str) -> Agent {
        let mut builder = Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(SILENCE))
            .timeout_global(Some(CALL))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .accept_encoding("identity")
            .proxy(self.proxy_for(upstream));
        let roots = if upstream.starts_with("https:") {
            self.trusted()
        } else {
            Vec::new()
        };
        if !roots.is_empty() {
            let roots = RootCerts::new_with_certs(&roots);
            builder = builder.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        builder.build().new_agent()
    }

    /// The proxy for connections to this address, as the agent itself would use it; see `reach`.
    fn proxy_for(&self, upstream: &str) -> Option<ureq::Proxy> {
        let (address, exceptions) = self.proxy.as_ref()?;
        let known = Proxy::parse(address, exceptions)?;
        let host = upstream.parse::<ureq::http::Uri>().ok()?;
        if known.passes_by(host.host()?) {
            return None;
        }
        let address = if address.contains("://") {
            address.clone()
        } else {
            format!("http://{address}")
        };
        ureq::Proxy::new(&address).ok()
    }

    /// The trusted certificates. If there are none, drive's built-in public certificates are used.
    fn trusted(&self) -> Vec<Certificate<'static>> {
        let own = self.certificates.as_deref();
        let system = SYSTEM.iter().map(Path::new).find(|file| file.is_file());
        let files = [own.or(system), self.more_certificates.as_deref()];
        let texts = files.into_iter().flatten();
        let texts = texts.filter_map(|file| std::fs::read(file).ok());
        texts.flat_map(|text| certificates(&text)).collect()
    }
}

fn certificates(text: &[u8]) -> Vec<Certificate<'static>> {
    let items = parse_pem(text).filter_map(Result::ok);
    items
        .filter_map(|item| {
            let PemItem::Certificate(certificate) = item else {
                return None;
            };
            Some(certificate)
        })
        .collect()
}
