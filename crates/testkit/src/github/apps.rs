//! GitHub Apps: installation tokens that expire by the simulator's clock, and tokens that are revoked.
//!
//! The stored part of GitHub's description lacks the operations of apps, so requests are checked here by
//! their shape: the path, a web token signed with the app's key, and times within GitHub's limits.

use super::http::{Answer, Refusal, Request};
use super::state::World;
use drive_core::time::Timestamp;
use jiff::SignedDuration;
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};

/// The private key of the app in tests, as DER, so that the repository does not seem to contain secrets.
pub(super) const KEY: &[u8] = include_bytes!("../../data/github/app-key.der");
/// A key that belongs to no app.
pub(super) const OTHER_KEY: &[u8] = include_bytes!("../../data/github/other-key.der");

/// The lifetime of an installation token, in seconds.
const LIVES: i64 = 3600;
/// How far in the future a web token may expire, in seconds.
const LONGEST: i64 = 600;

/// The login of a valid token.
pub(crate) fn viewer(world: &World, token: &str) -> Option<String> {
    let has_ended = world
        .token_ends
        .get(token)
        .is_some_and(|end| *end <= world.now());
    world.tokens.get(token).filter(|_| !has_ended).cloned()
}

/// Whether a token belongs to an app. GitHub reports no account permissions to such a token.
pub(crate) fn is_of_app(world: &World, token: &str) -> bool {
    world.token_ends.contains_key(token)
}

/// Refuses git without a valid token.
pub(crate) fn refuse_git(world: &World, request: &Request) -> Option<Answer> {
    if !world.git_needs_token {
        return None;
    }
    let header = request.header("authorization");
    let basic = header.split_once(' ').map_or("", |(_, basic)| basic);
    let text = String::from_utf8(decoded(basic)).unwrap_or_default();
    let password = text.split_once(':').map_or("", |(_, password)| password);
    if viewer(world, password).is_some() {
        return None;
    }
    let answer = Answer::text(401, "Repository not found.");
    Some(answer.with("www-authenticate", "Basic realm=\"GitHub\""))
}

/// The answer to a request that only an app makes; `None` for all others.
pub(crate) fn answer(world: &mut World, request: &Request) -> Option<Answer> {
    let rest = request.path.strip_prefix("/app/installations/")?;
    let id = rest.strip_suffix("/access_tokens")?;
    if request.method != "POST" {
        return Some(Refusal::not_found().answer());
    }
    let token = request.header("authorization");
    let token = token.strip_prefix("Bearer ").unwrap_or_default();
    let minted = claims_of(token, world.now())
        .and_then(|claims| mint(world, &claims, id.parse().unwrap_or_default()));
    Some(minted.unwrap_or_else(|refusal| refusal.answer()))
}

fn mint(world: &mut World, claims: &Value, installation: u64) -> Result<Answer, Refusal> {
    let issuer = claims["iss"].as_str().unwrap_or_default();
    let app = world.apps.iter().find(|app| app.id.to_string() == issuer);
    let Some(app) = app.cloned() else {
        return Err(Refusal::new(401, "A JSON web token could not be decoded"));
    };
    if app.installation != installation {
        return Err(Refusal::not_found());
    }
    if app.suspended {
        return Err(Refusal::new(403, "This installation has been suspended"));
    }
    world.minted += 1;
    let (token, now) = (format!("ghs_minted{}", world.minted), world.now());
    let ends = now
        .checked_add(SignedDuration::from_secs(LIVES))
        .unwrap_or(now);
    world.tokens.insert(token.clone(), app.login);
    world.token_ends.insert(token.clone(), ends);
    Ok(Answer::json(
        201,
        &json!({
            "token": token, "expires_at": ends.to_string(), "permissions": app.permissions,
            "repository_selection": "all",
        }),
    ))
}

/// The claims of a web token, if the app's key signed it and its times satisfy GitHub.
fn claims_of(token: &str, now: Timestamp) -> Result<Value, Refusal> {
    let refuse = |why: &str| Refusal::new(401, why);
    let undecodable = "A JSON web token could not be decoded";
    let mut parts = token.split('.');
    let (Some(head), Some(body), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(refuse(undecodable));
    };
    let header: Value = serde_json::from_slice(&decoded(head)).unwrap_or_default();
    let claims: Value = serde_json::from_slice(&decoded(body)).unwrap_or_default();
    let key = RsaKeyPair::from_der(KEY).map_err(|_| refuse("the simulator has no key"))?;
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    let signed = format!("{head}.{body}");
    let verified = public.verify(signed.as_bytes(), &decoded(signature));
    if verified.is_err() || header["alg"] != "RS256" {
        return Err(refuse(undecodable));
    }
    let time = |name: &str| claims[name].as_i64().unwrap_or_default();
    if time("iat") > now.as_second() {
        return Err(refuse(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        ));
    }
    if time("exp") <= now.as_second() || time("exp") > now.as_second() + LONGEST {
        return Err(refuse(
            "'Expiration time' claim ('exp') is too far in the future",
        ));
    }
    Ok(claims)
}

/// Decodes base64 of both alphabets, with or without padding.
fn decoded(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'-' | b'+' => Some(62),
        b'_' | b'/' => Some(63),
        _ => None,
    };
    let (mut out, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for six in text.bytes().filter_map(value) {
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}

/// A DER value with this tag.
pub(super) fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len())
        .unwrap_or(u16::MAX)
        .to_be_bytes();
    [&[tag, 0x82], &length[..], content].concat()
}

pub(super) fn pem(label: &str, der: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in der.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let index = (group >> (18 - 6 * at)) & 63;
            let is_padding = at > chunk.len();
            text.push(if is_padding {
                '='
            } else {
                char::from(ALPHABET[index as usize])
            });
        }
    }
    let lines: Vec<String> = text
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    // The text is assembled here: no source file may contain the text of a private key.
    let rule = "-".repeat(5);
    let body = lines.join("\n");
    format!("{rule}BEGIN {label}{rule}\n{body}\n{rule}END {label}{rule}\n")
}
