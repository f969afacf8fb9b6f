//! The toy's server: one current session at a time, one run per session, told as the answer to `/say`. What a run does
//! is the message itself: steps with `;` between them (`say:Hi;ask:rm x;wait;say:Done`). `cut` breaks the stream off.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Result, bail};
use axum::{
    Json, Router,
    body::Body,
    extract::{Path, State},
    http::{Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
};

/// One session.
#[derive(Debug, Default, Clone)]
pub struct Talk {
    /// Who said what.
    pub messages: Vec<(&'static str, String)>,
    /// A run goes on.
    pub running: bool,
    /// What waits for a yes or no.
    pub ask: Option<(String, String)>,
    answer: Option<bool>,
    steers: VecDeque<String>,
    gates: u32,
    stopped: bool,
    asked: u32,
}

/// Everything the server knows.
#[derive(Debug, Default)]
pub struct World {
    /// The current session.
    pub current: String,
    /// The sessions by id.
    pub talks: BTreeMap<String, Talk>,
    /// Every request that changes something: path and body.
    pub posts: Vec<(String, Value)>,
    /// Refuses to go to another session while a run goes on.
    pub stays: bool,
    /// Answers `/say` with this status and does nothing.
    pub refuse_say: Option<u16>,
    /// Takes `/say` in and breaks the connection before it answers.
    pub swallow_say: bool,
    /// Breaks the connection without taking `/say` in.
    pub lose_say: bool,
    /// Keeps back what it says of its state, as it was when it was asked for.
    pub slow_states: bool,
    /// How often its state was asked for.
    pub looks: u32,
    next: u32,
}

/// The server.
#[derive(Clone)]
pub struct ToyServer {
    world: Arc<Mutex<World>>,
    changed: watch::Sender<()>,
    /// Its address.
    pub base_url: String,
}

impl ToyServer {
    /// Starts one with a session called `one`.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let mut world = World { current: "one".to_owned(), ..World::default() };
        world.talks.insert("one".to_owned(), Talk::default());
        let server = Self { world: Arc::new(Mutex::new(world)), changed: watch::channel(()).0, base_url };
        let app = Router::new()
            .route("/toy", get(async || Json(json!({"toy": "1.0"}))))
            .route("/list", get(list))
            .route("/at", get(at))
            .route("/state", get(state))
            .route("/all", get(all))
            .route("/go/{id}", post(go))
            .route("/new", post(new))
            .route("/say", post(say))
            .route("/steer", post(steer))
            .route("/answer", post(answer))
            .route("/stop", post(stop))
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(server)
    }

    /// Reads or changes what it knows.
    pub fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let result = act(&mut self.world.lock().unwrap());
        self.changed.send_replace(());
        result
    }

    /// Lets a run that stands at `wait` go on.
    pub fn open_gate(&self, session: &str) {
        self.with(|world| world.talks.get_mut(session).unwrap().gates += 1);
    }

    /// Waits until something holds.
    ///
    /// # Errors
    /// When it does not come to hold.
    pub async fn until(&self, what: &str, holds: impl Fn(&World) -> bool) -> Result<()> {
        let mut changed = self.changed.subscribe();
        let waited = tokio::time::timeout(Duration::from_secs(60), async {
            while !holds(&self.world.lock().unwrap()) {
                changed.changed().await?;
            }
            anyhow::Ok(())
        });
        match waited.await {
            Ok(done) => done,
            Err(_) => bail!("the toy waited in vain for {what}: {:?}", self.world.lock().unwrap()),
        }
    }

    /// The bodies sent to one path.
    pub fn posts(&self, path: &str) -> Vec<Value> {
        self.with(|world| world.posts.iter().filter(|(to, _)| to == path).map(|(_, body)| body.clone()).collect())
    }

    fn talk<T>(&self, session: &str, act: impl FnOnce(&mut Talk) -> T) -> T {
        self.with(|world| act(world.talks.get_mut(session).unwrap()))
    }

    /// What a run waits for.
    async fn wait<T>(
        &self,
        session: &str,
        tell: &mpsc::Sender<String>,
        take: impl Fn(&mut Talk) -> Option<T>,
    ) -> Option<T> {
        let mut changed = self.changed.subscribe();
        loop {
            let got = take(self.world.lock().unwrap().talks.get_mut(session).unwrap());
            if got.is_some() {
                self.changed.send_replace(());
                return got;
            }
            tokio::select! {
                () = tell.closed() => return None,
                told = changed.changed() => told.ok()?,
            }
        }
    }

    async fn run(&self, session: String, text: String, tell: mpsc::Sender<String>) {
        let lived = self.steps(&session, &text, &tell).await;
        self.talk(&session, |talk| {
            talk.running = false;
            talk.ask = None;
        });
        if lived.is_some() {
            // Nobody listens where this cannot be told.
            let _ = tell.send(frame("end", &json!({}))).await;
        }
    }

    /// `None` where the stream ends without its last word.
    async fn steps(&self, session: &str, text: &str, tell: &mpsc::Sender<String>) -> Option<()> {
        for step in text.split(';') {
            let (what, rest) = step.split_once(':').unwrap_or((step, ""));
            match what {
                "ask" => {
                    let id = self.talk(session, |talk| {
                        talk.asked += 1;
                        let id = format!("ask-{}", talk.asked);
                        talk.ask = Some((id.clone(), rest.to_owned()));
                        id
                    });
                    tell.send(frame("ask", &json!({"id": id, "command": rest}))).await.ok()?;
                    let yes = self.wait(session, tell, |talk| talk.answer.take()).await?;
                    self.talk(session, |talk| talk.ask = None);
                    tell.send(frame("ran", &json!({"id": id, "ok": yes}))).await.ok()?;
                }
                "wait" => {
                    let steered = self
                        .wait(session, tell, |talk| {
                            if talk.gates > 0 {
                                talk.gates -= 1;
                                return Some(None);
                            }
                            talk.steers.pop_front().map(Some).or(talk.stopped.then_some(None))
                        })
                        .await?;
                    if let Some(text) = steered {
                        self.message(session, "user", &text, tell, true).await?;
                        self.message(session, "agent", &format!("You said: {text}"), tell, true).await?;
                    }
                }
                "cut" => return None,
                // For ever, whatever is asked of it.
                "hang" => self.wait(session, tell, |_| None::<()>).await?,
                // Written down, and never told.
                "silent" => self.message(session, "agent", rest, tell, false).await?,
                _ => self.message(session, "agent", rest, tell, true).await?,
            }
            if self.talk(session, |talk| talk.stopped) {
                break;
            }
        }
        Some(())
    }

    async fn message(
        &self,
        session: &str,
        who: &'static str,
        text: &str,
        tell: &mpsc::Sender<String>,
        aloud: bool,
    ) -> Option<()> {
        let n = self.talk(session, |talk| {
            talk.messages.push((who, text.to_owned()));
            talk.messages.len()
        });
        if aloud {
            tell.send(frame("said", &json!({"n": n, "who": who, "text": text}))).await.ok()?;
        }
        Some(())
    }
}

fn frame(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn refusal(status: u16, words: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, Json(json!({"words": words}))).into_response()
}

fn note(server: &ToyServer, uri: &Uri, body: &Value) {
    server.with(|world| world.posts.push((uri.path().to_owned(), body.clone())));
}

async fn list(State(server): State<ToyServer>) -> Json<Value> {
    let rows: Vec<Value> =
        server.with(|world| world.talks.iter().map(|(id, talk)| json!({"id": id, "running": talk.running})).collect());
    Json(json!(rows))
}

async fn at(State(server): State<ToyServer>) -> Json<Value> {
    Json(json!(server.with(|world| world.current.clone())))
}

async fn state(State(server): State<ToyServer>) -> Json<Value> {
    let answer = server.with(|world| {
        world.looks += 1;
        let talk = &world.talks[&world.current];
        let ask = talk.ask.as_ref().map(|(id, command)| json!({"id": id, "command": command}));
        json!({"running": talk.running, "ask": ask})
    });
    // A test that never lets go ends with its own patience.
    let _ = server.until("answers that go out", |world| !world.slow_states).await;
    Json(answer)
}

async fn all(State(server): State<ToyServer>) -> Json<Value> {
    Json(server.with(|world| {
        let rows = &world.talks[&world.current].messages;
        json!(rows.iter().map(|(who, text)| json!({"who": who, "text": text})).collect::<Vec<_>>())
    }))
}

async fn go(State(server): State<ToyServer>, uri: Uri, _: Method, Path(id): Path<String>) -> Response {
    note(&server, &uri, &Value::Null);
    server.with(|world| {
        if world.stays && world.talks[&world.current].running {
            return refusal(409, "A run goes on.");
        }
        if !world.talks.contains_key(&id) {
            return refusal(404, "No such session.");
        }
        world.current.clone_from(&id);
        Json(json!(id)).into_response()
    })
}

async fn new(State(server): State<ToyServer>) -> Json<Value> {
    Json(server.with(|world| {
        world.next += 1;
        let id = format!("new-{}", world.next);
        world.talks.insert(id.clone(), Talk::default());
        world.current.clone_from(&id);
        json!({"id": id, "running": false})
    }))
}

async fn say(State(server): State<ToyServer>, uri: Uri, Json(body): Json<Value>) -> Response {
    note(&server, &uri, &body);
    let text = body["text"].as_str().unwrap_or_default().to_owned();
    let (refuse, swallow, session) =
        server.with(|world| (world.refuse_say, std::mem::take(&mut world.swallow_say), world.current.clone()));
    if let Some(status) = refuse {
        return refusal(status, "Not now.");
    }
    assert!(!server.with(|world| std::mem::take(&mut world.lose_say)), "the toy loses this message");
    let (tell, told) = mpsc::channel::<String>(64);
    server.talk(&session, |talk| {
        talk.messages.push(("user", text.clone()));
        (talk.running, talk.stopped, talk.answer) = (true, false, None);
    });
    if swallow {
        server.talk(&session, |talk| talk.running = false);
        // Ends the connection's task, and with it the connection.
        panic!("the toy swallows this message");
    }
    let runner = server.clone();
    tokio::spawn(async move { runner.run(session, text, tell).await });
    let frames = futures_util::stream::unfold(told, async |mut told| {
        let frame = told.recv().await?;
        Some((Ok::<_, std::io::Error>(frame), told))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(frames)).into_response()
}

async fn steer(State(server): State<ToyServer>, uri: Uri, Json(body): Json<Value>) -> Json<Value> {
    note(&server, &uri, &body);
    Json(json!(server.with(|world| {
        let talk = world.talks.get_mut(&world.current).unwrap();
        if talk.running {
            talk.steers.push_back(body["text"].as_str().unwrap_or_default().to_owned());
        }
        talk.running
    })))
}

async fn answer(State(server): State<ToyServer>, uri: Uri, Json(body): Json<Value>) -> Json<Value> {
    note(&server, &uri, &body);
    Json(json!(server.with(|world| {
        let talk = world.talks.get_mut(&world.current).unwrap();
        let known = talk.answer.is_none() && talk.ask.as_ref().is_some_and(|(id, _)| body["id"] == json!(id));
        if known {
            // A stopped run asks, and runs nothing.
            talk.answer = Some(body["yes"] == json!(true) && !talk.stopped);
        }
        known
    })))
}

async fn stop(State(server): State<ToyServer>, uri: Uri) -> Json<Value> {
    note(&server, &uri, &Value::Null);
    Json(json!(server.with(|world| {
        let talk = world.talks.get_mut(&world.current).unwrap();
        talk.stopped = talk.running;
        talk.running
    })))
}
