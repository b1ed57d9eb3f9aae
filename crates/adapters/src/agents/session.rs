use super::transcript::Transcript;
use crate::broker::Broker;
use drive_core::agent::stream::{AgentStream, Phase};
use drive_core::agent::{AgentEvent, AgentOutcome, EventRedactor, Secrets, Usage};
use drive_core::network::Refused;
use drive_core::process::{End, Layer, LayerName, LayerState};
use drive_engine::cancel::Urgency;
use drive_engine::ports::{OutputSink, Stream};
use drive_engine::{CancelToken, StdinWriter};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long an agent may take to exit after it has finished.
const LINGER: Duration = Duration::from_secs(10);

/// A conversation with a running agent: its output is logged and parsed, its requests are answered,
/// and it is stopped when its stream requires that.
pub(super) struct Session<'a> {
    agent: &'a str,
    stream: Box<dyn AgentStream>,
    redactor: EventRedactor,
    secrets: Secrets,
    transcript: Transcript,
    stdin: Option<StdinWriter>,
    stop: CancelToken,
    linger: Option<Linger>,
    broker: Option<&'a Broker>,
    on_event: &'a mut dyn FnMut(AgentEvent),
}

impl<'a> Session<'a> {
    pub(super) fn new(
        agent: &'a str,
        stream: Box<dyn AgentStream>,
        secrets: Secrets,
        transcript: Transcript,
        stdin: Option<StdinWriter>,
        stop: CancelToken,
        on_event: &'a mut dyn FnMut(AgentEvent),
    ) -> Self {
        Self {
            agent,
            stream,
            redactor: EventRedactor::new(secrets.clone()),
            secrets,
            transcript,
            stdin,
            stop,
            linger: None,
            broker: None,
            on_event,
        }
    }

    /// Also uses the tokens that a broker counts.
    pub(super) fn counted_by(mut self, broker: Option<&'a Broker>) -> Self {
        self.broker = broker;
        self
    }

    /// Reports that the machine could not restrict the network.
    pub(super) fn lacked_network(&mut self, layers: &[Layer]) {
        let network = layers.iter().find(|layer| layer.name == LayerName::Network);
        if let Some(LayerState::Missing(why)) = network.map(|layer| &layer.state) {
            let message = format!(
                "the network of agent `{}` was not restricted: {why}",
                self.agent
            );
            self.tell(vec![AgentEvent::Network { message }]);
        }
    }

    /// Reports that package managers had no cache, or a read-only one.
    pub(super) fn lacked_caches(&mut self, layers: &[Layer]) {
        let caches = layers.iter().find(|layer| layer.name == LayerName::Caches);
        if let Some(LayerState::Missing(why)) = caches.map(|layer| &layer.state) {
            let message = format!("agent `{}` worked without your caches: {why}", self.agent);
            self.tell(vec![AgentEvent::Warning { message }]);
        }
    }

    /// Reports the layers of isolation. A layer that the report lacks was not requested; caches and
    /// keys may not exist.
    pub(super) fn held_by(&mut self, layers: &[Layer], keys: Option<Layer>) {
        let layer = |name: LayerName| {
            let known = layers.iter().find(|layer| layer.name == name).cloned();
            let is_off = name != LayerName::Caches;
            known.or_else(|| is_off.then(|| Layer::missing(name, "switched off in the settings")))
        };
        let mut all: Vec<Layer> = LayerName::ALL.into_iter().filter_map(layer).collect();
        let is_open =
            |layer: &Layer| layer.name == LayerName::View && layer.state != LayerState::Active;
        let is_open = all.iter().any(is_open);
        all.extend(keys.map(|keys| {
            if is_open {
                Layer::missing(LayerName::Keys, "it can read the files that hold them")
            } else {
                keys
            }
        }));
        let layers = all;
        self.tell(vec![AgentEvent::Isolation { layers }]);
    }

    /// The outcome, after the agent has exited.
    pub(super) fn finish(mut self, end: &End) -> AgentOutcome {
        drop(self.linger.take());
        self.transcript.finish();
        self.count(Broker::final_usage);
        let (events, outcome) = self.stream.finish(end);
        self.tell(events);
        for event in self.redactor.finish() {
            (self.on_event)(event);
        }
        self.secrets.redact_outcome(outcome)
    }

    fn count(&mut self, usage: fn(&Broker) -> Usage) {
        if let Some(broker) = self.broker {
            let events = self.stream.counted(usage(broker));
            self.tell(events);
        }
    }

    fn tell(&mut self, events: Vec<AgentEvent>) {
        for event in events {
            for clean in self.redactor.push(event) {
                (self.on_event)(clean);
            }
        }
    }

    fn answer(&mut self) {
        for frame in self.stream.outgoing() {
            let gone = match &self.stdin {
                Some(stdin) => stdin.send(frame).is_err(),
                None => true,
            };
            if gone {
                // It has closed its input; its output and its end explain why.
                self.stdin = None;
            }
        }
    }

    fn follow(&mut self) {
        match self.stream.phase() {
            Phase::Working => {}
            Phase::Done => {
                self.stdin = None;
                let stop = &self.stop;
                self.linger
                    .get_or_insert_with(|| Linger::start(stop.clone()));
            }
            Phase::Abandoned => {
                self.stdin = None;
                self.stop.cancel(Urgency::Graceful);
            }
        }
    }
}

impl OutputSink for Session<'_> {
    fn chunk(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.transcript.stdout(bytes),
            Stream::Stderr => self.transcript.stderr(bytes),
        }
        // This comes before its output, which may be about being stopped.
        self.count(Broker::usage);
        let events = self.stream.push(stream, bytes);
        self.tell(events);
        self.answer();
        self.follow();
    }

    fn refused(&mut self, refused: &Refused) {
        let message = format!("agent `{}` {refused}", self.agent);
        self.tell(vec![AgentEvent::Network { message }]);
    }
}

/// Ends an agent that has finished but does not exit.
struct Linger {
    exited: Option<Sender<()>>,
    timer: Option<JoinHandle<()>>,
}

impl Linger {
    fn start(stop: CancelToken) -> Self {
        let (exited, waiting) = channel::<()>();
        let timer = std::thread::spawn(move || {
            if waiting.recv_timeout(LINGER) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                stop.cancel(Urgency::Graceful);
            }
        });
        Self {
            exited: Some(exited),
            timer: Some(timer),
        }
    }
}

impl Drop for Linger {
    fn drop(&mut self) {
        self.exited.take();
        if let Some(timer) = self.timer.take() {
            let _ = timer.join();
        }
    }
}
