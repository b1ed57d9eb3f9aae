//! `drive serve`: the dashboard and the webhook receiver, until it is stopped.

mod control;
mod logins;

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::verify::kept_reports;
use crate::documents::ServeDocument;
use crate::wiring::Wiring;
use clap::{Args, ValueEnum};
use control::JournalControl;
use drive_adapters::clock::SystemClock;
use drive_adapters::environment::user_name;
use drive_adapters::process::ThisProcess;
use drive_adapters::store::{SqliteDeliveries, SqliteNudges};
use drive_core::forge::choice::Chosen;
use drive_core::forge::webhook::{Nudge, WebhookSecret};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{Clock, Nudges};
use drive_web::dashboard::{self, Hosts, ShownForge, Sources};
use drive_web::server::{Exposure, Listen, Server};
use drive_web::{Router, webhook};
use logins::FileLogins;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The interval between checks for cancellation.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The arguments of `drive serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "The dashboard opens only for a browser that followed the login link, which works \
                  once and for an hour. Webhooks are accepted once the variable that `forge.webhook_secret_env` names \
                  (DRIVE_WEBHOOK_SECRET) contains their secret. Ctrl-C stops the server with \
                  exit code 0."
)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4242")]
    listen: SocketAddr,

    /// What other machines can reach: signed webhooks only, or also the dashboard
    #[arg(long, value_name = "WHAT", value_enum)]
    expose: Option<Expose>,

    /// Host name to answer to besides addresses and `localhost`; may be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,

    /// Print a new login link for the running server, and exit
    #[arg(long)]
    link: bool,
}

/// What others may reach. Plain comments, so that `--help` stays one line an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Expose {
    // The receiver.
    Webhooks,
    // The dashboard too.
    All,
}

enum Arrived {
    Nudge(Nudge),
    Problem(Problem),
}

/// Serves until a stop is requested.
pub(crate) fn run(args: &ServeArgs, app: &App) -> Outcome {
    if args.link {
        return link(args, app);
    }
    let cancel = app.cancel()?.clone();
    let exposure = match args.expose {
        Some(Expose::Webhooks | Expose::All) => Exposure::Wanted,
        None => Exposure::Unasked,
    };
    let listen = Listen::parse(args.listen, exposure)?;
    let shows = shows_dashboard(args.listen, args.expose);

    let settings = &app.settings()?.settings;
    let wiring = Wiring::new(app, settings, &app.start_dir()?)?;
    let (tell, heard) = channel();
    let variable = &settings.forge.webhook_secret_env;
    let secret = match app.environment().text(variable) {
        Some(secret) => Some(WebhookSecret::new(secret)?),
        None => None,
    };
    if !shows && secret.is_none() {
        return Err(Problem::new(
            Kind::NothingToServe,
            format!(
                "nothing to serve: the dashboard is not exposed, and `{variable}` holds no \
                     webhook secret"
            ),
        )
        .hint(format!("set `{variable}`, or pass `--expose all`")));
    }
    let logins = Arc::new(FileLogins::open(
        app.state_dir()?.path(),
        wiring.clock.clone(),
    )?);
    let mut router = if shows {
        let sources = sources(app, &wiring, logins.clone())?;
        dashboard::router(sources, Hosts::new(&args.hosts))
    } else {
        Router::new()
    };
    let receives = secret.is_some();
    if let Some(secret) = secret {
        router = router.merge(receiver(&wiring, secret, tell)?);
    }
    let server = Server::start(listen, router)?;
    let url = format!("http://{}", server.address());
    let webhooks = receives.then(|| format!("{url}{}", webhook::PATH));
    let login = if shows {
        logins.store_address(&url)?;
        Some(login_link(&logins, &url)?)
    } else {
        None
    };
    let document = ServeDocument {
        url,
        dashboard: shows,
        login,
        webhooks,
    };
    app.output()
        .answer_now(&Answer::new(&document, announcement(&document, variable))?);
    if args.expose == Some(Expose::All) && !args.listen.ip().is_loopback() {
        app.output()
            .warn("this address has no TLS: anyone who can read the traffic can take over a login; use a proxy with TLS");
    }
    while cancel.asked().is_none() {
        if !server.is_running() {
            return Err(
                Problem::new(Kind::ServerEnded, "the server ended unexpectedly")
                    .hint("start it again: `drive serve`"),
            );
        }
        say_next(app, &heard);
    }
    drop(server);
    app.output().narrate("stopped");
    Answer::new(&document, "")
}

/// Prints a new login link for the running server.
fn link(args: &ServeArgs, app: &App) -> Outcome {
    let logins = FileLogins::open(app.state_dir()?.path(), Arc::new(SystemClock))?;
    let address = logins.load_address();
    let url = address.unwrap_or_else(|| format!("http://{}", args.listen));
    let login = login_link(&logins, &url)?;
    let text = format!("{login}\n");
    let document = ServeDocument {
        url,
        dashboard: true,
        login: Some(login),
        webhooks: None,
    };
    Answer::new(&document, text)
}

/// The login link. A browser cannot use a wildcard address, so the link contains a loopback address instead.
fn login_link(logins: &FileLogins, url: &str) -> Result<String, Problem> {
    let here = url.replacen("//0.0.0.0:", "//127.0.0.1:", 1);
    let here = here.replacen("//[::]:", "//[::1]:", 1);
    Ok(format!("{here}/login?code={}", logins.new_code()?))
}

/// Whether the dashboard is shown. From other machines only signed webhooks are accepted, unless
/// `--expose all` is given.
fn shows_dashboard(listen: SocketAddr, expose: Option<Expose>) -> bool {
    listen.ip().is_loopback() || expose == Some(Expose::All)
}

/// Waits briefly for an event.
fn say_next(app: &App, arrived: &Receiver<Arrived>) {
    match arrived.recv_timeout(LOOK_EVERY) {
        Ok(Arrived::Nudge(nudge)) => app.output().narrate(format_args!(
            "change on pull request {} of {}",
            nudge.pr, nudge.repository
        )),
        Ok(Arrived::Problem(problem)) => app.output().warn(&problem),
        Err(RecvTimeoutError::Timeout) => {}
        // Without a sender no event can arrive, but a stop still can.
        Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK_EVERY),
    }
}

fn announcement(document: &ServeDocument, variable: &str) -> String {
    let mut text = if document.dashboard {
        let mut text = format!("dashboard  {}\n", document.url);
        if let Some(login) = &document.login {
            text.push_str(&format!("login      {login}\n"));
        }
        text
    } else {
        "dashboard  off (not exposed)\n".to_owned()
    };
    text.push_str(&match &document.webhooks {
        Some(webhooks) => format!("webhooks   {webhooks}\n"),
        None => format!("webhooks   off; set `{variable}` to the webhook's secret\n"),
    });
    text
}

/// The data of the dashboard: all runs and verifications, and the pull requests and the forge of
/// the repository, if there is one.
fn sources(app: &App, wiring: &Wiring, logins: Arc<FileLogins>) -> Result<Sources, Problem> {
    let settings = &app.settings()?.settings;
    let folder = app.start_dir()?;
    let forge = wiring.forge(settings, &folder).map(|open| ShownForge {
        name: match &open.choice.chosen {
            Chosen::Github { repo } => format!("GitHub, `{repo}`: {}", open.choice.why),
            Chosen::Local => format!("the local forge: {}", open.choice.why),
        },
        forge: open.forge,
    });
    let local = wiring.local_forge(&folder).map(Arc::new);
    let control = JournalControl {
        store: wiring.store.clone(),
        clock: wiring.clock.clone(),
        whoami: ThisProcess::load(),
        user: user_name(app.environment()),
        forge: local.clone(),
    };
    Ok(Sources {
        runs: Arc::new(wiring.store.clone()),
        whoami: Arc::new(ThisProcess::load()),
        logins,
        control: Arc::new(control),
        pull_requests: local.map(|local| local as _),
        verifications: Arc::new(kept_reports(app)?),
        forge,
        clock: wiring.clock.clone(),
    })
}

fn receiver(
    wiring: &Wiring,
    secret: WebhookSecret,
    tell: Sender<Arrived>,
) -> Result<Router, Problem> {
    let clock: Arc<dyn Clock> = wiring.clock.clone();
    let board = Board {
        kept: SqliteNudges::new(wiring.database().clone(), clock.clone()),
        tell: tell.clone(),
    };
    let handlers = webhook::Handlers {
        deliveries: Arc::new(SqliteDeliveries::new(wiring.database().clone())),
        nudges: Arc::new(board),
        clock,
        // After a stop request nobody receives this.
        report: Box::new(move |problem| drop(tell.send(Arrived::Problem(problem)))),
    };
    webhook::router(secret, handlers)
}

/// Stores nudges for the owners of runs, and reports them.
struct Board {
    kept: SqliteNudges,
    tell: Sender<Arrived>,
}

impl Nudges for Board {
    fn nudge(&self, nudge: Nudge) -> Result<(), Problem> {
        self.kept.nudge(nudge.clone())?;
        drop(self.tell.send(Arrived::Nudge(nudge)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dashboard_is_shown_here_and_elsewhere_only_on_request() {
        let here = ["127.0.0.1:1", "127.0.0.2:1", "[::1]:1"];
        let elsewhere = ["0.0.0.0:1", "[::]:1", "192.0.2.1:1"];
        for (addresses, expose, shown) in [
            (here, None, true),
            (here, Some(Expose::Webhooks), true),
            (here, Some(Expose::All), true),
            (elsewhere, None, false),
            (elsewhere, Some(Expose::Webhooks), false),
            (elsewhere, Some(Expose::All), true),
        ] {
            for address in addresses {
                let address = address.parse().unwrap();
                assert_eq!(
                    shows_dashboard(address, expose),
                    shown,
                    "{address} {expose:?}"
                );
            }
        }
    }
}
