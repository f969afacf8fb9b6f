//! What this app writes into a session's log itself.

use contract::{
    Millis,
    command::SentImage,
    connection::ConnectionCause,
    event::{Event, EventBody},
    item::{Marker, Notice, NoticeCode, NoticeLevel, Text},
    request::ChoiceKind,
    session::RunOptions,
    setup::SessionSetup,
    wire::{Frame, FrameKind, LoggedFrame, Origin},
};
use protocols::{Opened, Seen, SessionCodec};
use serde::{Deserialize, Serialize};

/// One such entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum LocalRecord {
    /// The stream ended.
    Dropped {
        /// Why.
        cause: ConnectionCause,
    },
    /// The stream is back and history was merged.
    Resumed {
        /// How long it was away.
        away_ms: u64,
        /// The cursor it resumed after.
        after: Option<String>,
        /// Events that were new.
        recovered: u32,
    },
    /// Events are known to have been missed.
    Gap {
        /// What is known of it.
        detail: String,
        /// Whether history filled it.
        recovered: bool,
    },
    /// A stop was asked for.
    StopRequested {
        /// However the turn ends from here on, it ends by this stop (the server's own words for the end do not tell).
        #[serde(default)]
        ends_turn: bool,
    },
    /// The server did not take the stop that was asked for.
    StopRefused,
    /// The server took the stop, and nothing ran whose end could tell of it.
    StopConfirmed,
    /// A turn began whose stream is the answer to this; the server repeats it nowhere.
    TurnOpened {
        /// The message's id; `None` where a run is taken up again.
        message: Option<String>,
        /// Its text.
        text: String,
        /// Images that went with it.
        images: Vec<SentImage>,
        /// How the run was asked for.
        options: RunOptions,
        /// The changed setup that went with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setup: Option<SessionSetup>,
    },
    /// The answers to these requests leave, all in one request.
    AnswersLeft {
        /// The requests.
        requests: Vec<String>,
    },
    /// They never reached the server.
    AnswersBack {
        /// The requests.
        requests: Vec<String>,
    },
    /// The server has them, and the turn goes on: its stream is the answer to them.
    AnswersOpened {
        /// What was answered.
        answers: Vec<Answered>,
        /// The changed setup that went with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setup: Option<SessionSetup>,
    },
    /// Something that the person allowed was carried out here.
    CarriedOut {
        /// The request.
        request: String,
        /// The digest of what was shown.
        digest: String,
        /// What came of it, as the agent is told.
        result: String,
    },
    /// The setup was changed here: it goes with what is sent next.
    SetupChosen {
        /// The whole setup.
        setup: SessionSetup,
        /// The secret options whose values go with it.
        secrets: Vec<String>,
    },
    /// We no longer listen to a turn that its server cannot stop: it goes on there.
    LetGo,
    /// This app is closing, and the turn whose stream it holds breaks off with it.
    AppClosed,
    /// The server waited for ids that no event explained: each got a fallback card.
    FallbackCards {
        /// The ids.
        requests: Vec<String>,
    },
}

/// One answer that the server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The request.
    pub request: String,
    /// What was chosen.
    pub choice: ChoiceKind,
    /// The reason given.
    pub reason: Option<String>,
    /// The result that was given, for a tool that ran here.
    pub result: Option<String>,
}

impl LocalRecord {
    /// As a frame for the log.
    #[must_use]
    pub fn frame(&self, position: i64, at: Millis) -> LoggedFrame {
        // These plain types always serialize.
        let data = serde_json::to_string(self).unwrap_or_default();
        LoggedFrame {
            frame: Frame { name: Some("local".into()), data, ..Frame::default() },
            origin: Origin::Local,
            kind: FrameKind::Control,
            identity: None,
            position,
            received_at: at,
        }
    }

    /// Reads one back; `None` for entries of a later version.
    #[must_use]
    pub fn read(frame: &Frame) -> Option<Self> {
        serde_json::from_str(&frame.data).ok()
    }

    /// The domain events it means.
    pub fn fold(&self, codec: &mut dyn SessionCodec, seen: Seen, out: &mut Vec<Event>) {
        let position = seen.position;
        let marker = match self {
            Self::Dropped { .. } => {
                codec.connection_lost(out);
                return;
            }
            Self::StopRequested { .. } | Self::StopRefused => {
                codec.stopping(matches!(self, Self::StopRequested { .. }));
                return;
            }
            Self::StopConfirmed
            | Self::AnswersLeft { .. }
            | Self::AnswersBack { .. }
            | Self::CarriedOut { .. }
            | Self::SetupChosen { .. }
            | Self::LetGo => return,
            Self::AnswersOpened { answers, .. } => {
                let told = |answered: &Answered| (answered.request.clone(), answered.choice, answered.reason.clone());
                codec.turn_opened(&Opened::Answers { answers: answers.iter().map(told).collect() }, seen, out);
                return;
            }
            Self::TurnOpened { message, text, images, options, .. } => {
                let (text, images, options) = (text.clone(), images.clone(), options.clone());
                let opened = match message.clone() {
                    Some(id) => Opened::Message { id, text, images, options },
                    None => Opened::Resume { options },
                };
                codec.turn_opened(&opened, seen, out);
                return;
            }
            Self::FallbackCards { requests } => {
                out.push(notice(position, requests));
                return;
            }
            Self::AppClosed => {
                codec.connection_lost(out);
                Marker::AppClosed { at: seen.received_at }
            }
            Self::Resumed { away_ms, after, recovered } => {
                Marker::Resumed { away_ms: *away_ms, after: after.clone(), recovered: *recovered }
            }
            Self::Gap { detail, recovered } => Marker::Gap { detail: detail.clone(), recovered: *recovered },
        };
        out.push(Event {
            at: None,
            turn: None,
            thread: None,
            body: EventBody::Marker { id: format!("local@{position}"), marker },
        });
    }
}

/// The word on fallback cards: the person is to know that the card is not the server's own.
fn notice(position: i64, requests: &[String]) -> Event {
    let ids = requests.join(", ");
    let notice = Notice {
        level: NoticeLevel::Warning,
        code: NoticeCode::FallbackCard,
        text: "The server waits for an answer to something it never showed.".into(),
        detail: Some(Text { chars: ids.chars().count() as u64, text: ids, handle: None }),
    };
    Event { at: None, turn: None, thread: None, body: EventBody::Notice { id: format!("local@{position}"), notice } }
}
