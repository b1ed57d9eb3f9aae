//! Tokens of a GitHub App: signs a web token with the app's key and asks for an installation token.
//!
//! An installation token is valid for an hour. The token and the key are only kept in memory.

use super::credential::{Minted, TokenSource};
use super::refusal::{date, limited_until, message, rate_limited, refused, unreadable};
use super::surroundings::Surroundings;
use super::token::Token;
use super::transport::{Ask, Bounds, JSON, Reply, Route, Transport};
use drive_core::forge::rate_limit;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::http::Method;

/// How long a web token is valid, in seconds: GitHub allows ten minutes.
const VALID: i64 = 540;
/// By how many seconds the web token is dated back, in case the clock is ahead: GitHub recommends this.
const DATED_BACK: i64 = 60;
/// The difference in seconds from which the forge's clock is used to sign.
const APART: i64 = 30;
/// More bytes than any key has.
const KEY_BYTES: u64 = 64 * 1024;
/// How often a token is requested if the forge does not answer.
const ATTEMPTS: u32 = 3;

/// A GitHub App with one of its installations.
#[derive(Debug)]
pub struct App {
    id: u64,
    installation: u64,
    key_file: PathBuf,
    api_url: String,
    transport: Transport,
}

/// GitHub's answer.
#[derive(Deserialize)]
struct AccessToken {
    token: String,
    expires_at: Timestamp,
    #[serde(default)]
    permissions: BTreeMap<String, String>,
}

impl App {
    /// The app `id` with this installation, with its key in `key_file`, on the server at `api_url`.
    pub fn new(
        id: u64,
        installation: u64,
        key_file: &Path,
        api_url: &str,
        bounds: Bounds,
        route: Route,
    ) -> Self {
        Self {
            id,
            installation,
            key_file: key_file.to_owned(),
            api_url: api_url.trim_end_matches('/').to_owned(),
            transport: Transport::new(bounds, route),
        }
    }

    /// A name that stays the same when the token is renewed.
    pub fn identity(&self) -> String {
        format!("app-{}-{}@{}", self.id, self.installation, self.api_url)
    }

    fn request(
        &self,
        key: &RsaKeyPair,
        now: Timestamp,
        around: &Surroundings,
    ) -> Result<Reply, Problem> {
        let jwt = self.web_token(key, now)?;
        let ask = Ask {
            method: Method::POST,
            url: &format!(
                "{}/app/installations/{}/access_tokens",
                self.api_url, self.installation
            ),
            etag: None,
            accept: JSON,
            body: Some(b"{}".to_vec()),
        };
        self.transport.send(ask, &jwt, &around.cancel)
    }

    /// Requests a token, and retries if the forge does not answer. A second token does no harm.
    fn request_patiently(
        &self,
        key: &RsaKeyPair,
        now: Timestamp,
        around: &Surroundings,
    ) -> Result<Reply, Problem> {
        let mut attempt = 1;
        loop {
            let reply = self.request(key, now, around);
            let is_lost = reply.as_ref().map_or(true, |reply| reply.status >= 500);
            if !is_lost || attempt >= ATTEMPTS || around.cancel.asked().is_some() {
                return reply;
            }
            let wait = rate_limit::backoff(attempt);
            around.pause.pause(wait, &around.cancel);
            attempt += 1;
        }
    }

    fn web_token(&self, key: &RsaKeyPair, now: Timestamp) -> Result<Token, Problem> {
        let now = now.as_second();
        let header = json!({"alg": "RS256", "typ": "JWT"}).to_string();
        let claims = json!({
            "iat": now - DATED_BACK, "exp": now + VALID, "iss": self.id.to_string(),
        });
        let signed = format!(
            "{}.{}",
            base64(header.as_bytes()),
            base64(claims.to_string().as_bytes())
        );
        let mut signature = vec![0; key.public().modulus_len()];
        key.sign(
            &RSA_PKCS1_SHA256,
            &SystemRandom::new(),
            signed.as_bytes(),
            &mut signature,
        )
        .map_err(|_| self.unusable("it cannot sign"))?;
        Token::new(&format!("{signed}.{}", base64(&signature)))
            .ok_or_else(|| self.unusable("its signature is too long"))
    }

    fn load_key(&self) -> Result<RsaKeyPair, Problem> {
        let mut pem = Vec::new();
        let file =
            File::open(&self.key_file).and_then(|file| file.take(KEY_BYTES).read_to_end(&mut pem));
        file.map_err(|error| self.unusable("it cannot be read").because(error))?;
        // GitHub provides PKCS #1; tools that convert keys write PKCS #8.
        match PrivateKeyDer::from_pem_slice(&pem) {
            Ok(PrivateKeyDer::Pkcs1(der)) => RsaKeyPair::from_der(der.secret_pkcs1_der())
                .map_err(|error| self.unusable(&format!("it is not an RSA private key: {error}"))),
            Ok(PrivateKeyDer::Pkcs8(der)) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der())
                .map_err(|error| self.unusable(&format!("it is not an RSA private key: {error}"))),
            Ok(_) => Err(self.unusable("it is not an RSA private key")),
            Err(_) => Err(self.unusable("it contains no private key")),
        }
    }

    fn unusable(&self, why: &str) -> Problem {
        let path = self.key_file.display();
        Problem::new(
            Kind::AppKeyUnusable,
            format!(
                "cannot use `{path}` as the private key of GitHub App {}: {why}",
                self.id
            ),
        )
        .hint("set `forge.private_key_file` to the `.pem` file that GitHub made for the app")
    }

    fn refusal(&self, reply: &Reply, now: Timestamp) -> Problem {
        if let Some(until) = limited_until(reply, now) {
            return rate_limited(until);
        }
        let Self {
            id, installation, ..
        } = self;
        let (what, hint) = match reply.status {
            401 => (
                format!("GitHub does not accept the key of GitHub App {id}"),
                "check `forge.app_id`, and that the app still has the key in \
                 `forge.private_key_file`",
            ),
            403 => (
                format!("installation {installation} of GitHub App {id} is suspended"),
                "unsuspend it in the settings of the account that installed the app",
            ),
            404 => (
                format!("GitHub App {id} has no installation {installation}"),
                "the address of the installation's settings page ends with its \
                 `forge.installation_id`",
            ),
            _ => return refused(reply, &format!("GitHub App {id}")),
        };
        let problem = Problem::new(Kind::AppRefused, what).hint(hint);
        match message(reply) {
            words if words.is_empty() => problem,
            words => problem.cause(words),
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    crate::base64::encode(bytes, crate::base64::URL)
}

impl TokenSource for App {
    fn ask(&self, around: &Surroundings) -> Result<Minted, Problem> {
        let (key, now) = (self.load_key()?, around.clock.now());
        let mut reply = self.request_patiently(&key, now, around)?;
        let theirs = date(&reply).unwrap_or(now);
        // A web token signed with a wrong clock is refused; the answer contains the right time.
        if reply.status == 401 && (theirs.as_second() - now.as_second()).abs() > APART {
            reply = self.request_patiently(&key, theirs, around)?;
        }
        if reply.status != 201 {
            return Err(self.refusal(&reply, now));
        }
        let about = format!("GitHub App {}", self.id);
        let answer: AccessToken =
            serde_json::from_slice(&reply.body).map_err(|error| unreadable(&about, error))?;
        let lives = answer.expires_at.duration_since(theirs);
        let token = Token::new(&answer.token).ok_or_else(|| {
            Problem::new(
                Kind::ForgeAnswer,
                format!("cannot read the forge's answer about `{about}`"),
            )
        })?;
        Ok(Minted {
            token,
            lives: Some(Duration::try_from(lives).unwrap_or_default()),
            granted: Some(answer.permissions),
        })
    }

    fn describe(&self) -> String {
        format!("GitHub App {}", self.id)
    }

    fn advice(&self) -> String {
        "check that the app is installed and not suspended".to_owned()
    }
}
