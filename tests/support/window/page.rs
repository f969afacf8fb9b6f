//! The page as a person meets it: things have a role and a name, and a click is a pointer that moves, rests and presses.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    LIMIT,
    driver::Driver,
    process::{descendants, kill_now, wait_gone},
};

/// The W3C name under which an element's reference travels.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Waits inside the page until LOOK (put in here: the page's policy lets no text become code) answers something true: at every change of the page, not by asking again.
const UNTIL: &str = r"
const [args, limit, done] = arguments;
const find = (args) => { LOOK };
let timer = 0;
const observer = new MutationObserver(check);
function check() {
  let found = null;
  try { found = find(args); } catch { found = null; }
  if (!found) return;
  observer.disconnect();
  clearTimeout(timer);
  done(found);
}
observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
timer = setTimeout(() => { observer.disconnect(); done(null); }, limit);
check();
";

/// A thing of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element(pub(super) String);

struct Named {
    element: Element,
    role: String,
    name: String,
}

/// The page in a running app.
pub struct Page {
    driver: Arc<Driver>,
    session: String,
}

impl Page {
    pub(super) fn new(driver: Arc<Driver>, session: String) -> Self {
        Self { driver, session }
    }

    pub(super) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
        self.driver.call(method, &format!("/session/{}{path}", self.session), body).await
    }

    /// The app's process.
    ///
    /// # Errors
    /// Where it is gone.
    pub fn app_id(&self) -> Result<i32> {
        let name = super::app_program().file_name().context("no name")?.to_owned();
        descendants(self.driver.id(), |program| program == name).into_iter().next().context("the app is gone")
    }

    /// Ends the app as `kill -9` does, and waits until it is gone.
    ///
    /// # Errors
    /// Where it was gone already.
    pub fn kill_app(self) -> Result<()> {
        let id = self.app_id()?;
        kill_now(id)?;
        wait_gone(id)
    }

    /// Runs a script and answers what it returns.
    ///
    /// # Errors
    /// Where it throws.
    pub async fn run(&self, script: &str, args: Value) -> Result<Value> {
        self.call(Method::POST, "/execute/sync", Some(json!({ "script": script, "args": [args] }))).await
    }

    /// Runs a script that answers through its last argument.
    ///
    /// # Errors
    /// Where it throws or never answers.
    pub async fn run_async(&self, script: &str, args: Value) -> Result<Value> {
        self.call(Method::POST, "/execute/async", Some(json!({ "script": script, "args": args }))).await
    }

    /// Waits until the body of a function of `args` answers something true.
    ///
    /// # Errors
    /// Where that does not happen in time: with the page's text.
    pub async fn until(&self, what: &str, look: &str, args: Value) -> Result<Value> {
        let limit = LIMIT.as_millis() as u64;
        let found = self
            .run_async(&UNTIL.replace("LOOK", look), json!([args, limit]))
            .await
            .with_context(|| what.to_owned())?;
        if found.is_null() {
            bail!("waited in vain for {what}. The page says:\n{}", self.text().await?);
        }
        Ok(found)
    }

    /// Waits until something matches the selector.
    ///
    /// # Errors
    /// Where nothing does in time.
    pub async fn until_present(&self, selector: &str) -> Result<()> {
        self.until(selector, "return document.querySelector(args) !== null", json!(selector)).await.map(drop)
    }

    /// Waits until the page shows this text.
    ///
    /// # Errors
    /// Where it does not in time.
    pub async fn until_text(&self, text: &str) -> Result<()> {
        let look = "return document.body.innerText.includes(args)";
        self.until(&format!("the text {text:?}"), look, json!(text)).await.map(drop)
    }

    /// Waits until there is no button with this text any more.
    ///
    /// # Errors
    /// Where there still is one at the end of the time.
    pub async fn until_no_button(&self, text: &str) -> Result<()> {
        let look = "return ![...document.querySelectorAll('button')].some((b) => b.textContent.trim() === args)";
        self.until(&format!("the button {text:?} to go"), look, json!(text)).await.map(drop)
    }

    /// All text the page shows.
    ///
    /// # Errors
    /// Where the page is gone.
    pub async fn text(&self) -> Result<String> {
        Ok(self.run("return document.body.innerText", Value::Null).await?.as_str().unwrap_or_default().to_owned())
    }

    /// The one thing with this role and accessible name; waits for it.
    ///
    /// # Errors
    /// Where it does not come in time.
    pub async fn find(&self, role: &str, name: &str) -> Result<Element> {
        let begin = std::time::Instant::now();
        loop {
            if let Some(found) = self.look_for(role, name).await?.into_iter().next() {
                return Ok(found);
            }
            if begin.elapsed() > LIMIT {
                let there = self.named(role).await?.into_iter().map(|found| format!("{} {:?}", found.role, found.name));
                let there: Vec<_> = there.collect();
                bail!("no {role} {name:?}. There are {there:?}. The page says:\n{}", self.text().await?);
            }
            // Its name may come from elsewhere in the page: any change is a reason to look again.
            let wait = "const done = arguments[arguments.length - 1]; const o = new MutationObserver(end); \
                        const t = setTimeout(end, 250); function end() { o.disconnect(); clearTimeout(t); done(true); } \
                        o.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });";
            self.run_async(wait, json!([])).await?;
        }
    }

    /// Everything that now has this role and accessible name, as the engine computes them.
    ///
    /// # Errors
    /// Where the page is gone.
    pub async fn look_for(&self, role: &str, name: &str) -> Result<Vec<Element>> {
        let all = self.named(role).await?;
        let right = |found: &Named| same_name(&found.name, name, role) && same_role(&found.role, role);
        Ok(all.into_iter().filter(right).map(|found| found.element).collect())
    }

    /// The engine refuses to list elements while one of them goes away; the next look is without it.
    async fn list(&self, what: Value) -> Result<Value> {
        let mut tries = 0;
        loop {
            match self.call(Method::POST, "/elements", Some(what.clone())).await {
                Err(error) if tries < 10 && error.to_string().contains("stale element reference") => tries += 1,
                outcome => return outcome,
            }
        }
    }

    /// What could have this role, with role and name as the engine computes them.
    async fn named(&self, role: &str) -> Result<Vec<Named>> {
        let selector = match role {
            "button" => "button, [role=button]",
            "textbox" => "input, textarea, [role=textbox], [contenteditable=true]",
            "link" => "a, [role=link]",
            "heading" => "h1, h2, h3, h4, [role=heading]",
            "checkbox" => "input[type=checkbox], [role=checkbox]",
            "radio" => "input[type=radio], [role=radio]",
            "menuitem" => "[role=menuitem]",
            "article" => "article, [role=article]",
            "list" => "ul, ol, [role=list]",
            "combobox" => "select, [role=combobox]",
            "dialog" => "dialog, [role=dialog], [role=alertdialog]",
            "region" => "section, [role=region]",
            _ => "*",
        };
        let body = json!({ "using": "css selector", "value": selector });
        let all = self.list(body).await?;
        let mut found = Vec::new();
        for reference in all.as_array().into_iter().flatten() {
            let Some(id) = reference[ELEMENT].as_str() else { continue };
            // An element may have gone since it was listed.
            let Ok(name) = self.call(Method::GET, &format!("/element/{id}/computedlabel"), None).await else {
                continue;
            };
            let Ok(role) = self.call(Method::GET, &format!("/element/{id}/computedrole"), None).await else { continue };
            found.push(Named {
                element: Element(id.to_owned()),
                role: role.as_str().unwrap_or_default().to_owned(),
                name: name.as_str().unwrap_or_default().trim().to_owned(),
            });
        }
        Ok(found)
    }

    /// Clicks a thing as a person does: the pointer comes from beside it, rests, presses, lets go.
    ///
    /// # Errors
    /// Where it cannot be reached.
    pub async fn click(&self, element: &Element) -> Result<()> {
        self.scroll_to(element).await?;
        let origin = json!({ ELEMENT: element.0 });
        let actions = json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": [
            { "type": "pointerMove", "duration": 20, "origin": origin, "x": -3, "y": 1 },
            { "type": "pointerMove", "duration": 20, "origin": origin, "x": 0, "y": 0 },
            { "type": "pause", "duration": 30 },
            { "type": "pointerDown", "button": 0 },
            { "type": "pause", "duration": 30 },
            { "type": "pointerUp", "button": 0 },
        ] }] });
        self.call(Method::POST, "/actions", Some(actions)).await.map(drop)
    }

    /// Waits for the thing with this role and name and clicks it.
    ///
    /// # Errors
    /// Where it does not come.
    pub async fn click_on(&self, role: &str, name: &str) -> Result<()> {
        let element = self.find(role, name).await?;
        self.click(&element).await.with_context(|| format!("clicking {role} {name:?}"))
    }

    /// Clicks a button of a request card. A card takes no click while it is new or moves; a person then clicks once more.
    ///
    /// # Errors
    /// Where the card never takes it.
    pub async fn decide(&self, name: &str) -> Result<()> {
        let mut made = Ok(Value::Null);
        for _ in 0..10 {
            let element = self.find("button", name).await?;
            self.scroll_to(&element).await?;
            let origin = json!({ ELEMENT: element.0 });
            let actions = json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": [
                { "type": "pointerMove", "duration": 20, "origin": origin, "x": -4, "y": 2 },
                { "type": "pause", "duration": 900 },
                { "type": "pointerMove", "duration": 20, "origin": origin, "x": 0, "y": 0 },
                { "type": "pause", "duration": 50 },
                { "type": "pointerDown", "button": 0 },
                { "type": "pause", "duration": 50 },
                { "type": "pointerUp", "button": 0 },
            ] }] });
            // On a busy machine the driver gives a gesture up without a word of why: then nothing is taken.
            made = self.call(Method::POST, "/actions", Some(actions)).await;
            let taken = "const [name, done] = arguments; const gone = () => ![...document.querySelectorAll('button')] \
                 .some((b) => b.textContent.trim().startsWith(name) && !b.disabled); \
                 const o = new MutationObserver(() => { if (gone()) end(true); }); const t = setTimeout(() => end(false), 5000); \
                 function end(v) { o.disconnect(); clearTimeout(t); done(v); } \
                 o.observe(document, { subtree: true, childList: true, attributes: true }); if (gone()) end(true);";
            if self.run_async(taken, json!([name])).await? == json!(true) {
                return Ok(());
            }
        }
        made?;
        bail!("the card does not take {name:?}. The page says:\n{}", self.text().await?)
    }

    /// Puts text into a field, in place of what it holds.
    ///
    /// # Errors
    /// Where there is no such field.
    pub async fn fill(&self, name: &str, text: &str) -> Result<()> {
        let field = self.find("textbox", name).await?;
        self.click(&field).await?;
        // `clear` of the protocol sends no input event: Ctrl+A, Delete does.
        self.keys(&field, "\u{e009}a\u{e000}\u{e017}").await?;
        if text.is_empty() { Ok(()) } else { self.keys(&field, text).await }
    }

    /// Types into a thing.
    ///
    /// # Errors
    /// Where it takes no keys.
    pub async fn keys(&self, element: &Element, text: &str) -> Result<()> {
        let path = format!("/element/{}/value", element.0);
        self.call(Method::POST, &path, Some(json!({ "text": text }))).await.map(drop)
    }

    async fn scroll_to(&self, element: &Element) -> Result<()> {
        let script = "arguments[0].scrollIntoView({ block: 'nearest' })";
        self.run(script, json!({ ELEMENT: element.0 })).await.map(drop)
    }

    /// Lets the app end by itself: closes the session, within a limit.
    pub async fn close(self) {
        let _ = tokio::time::timeout(Duration::from_secs(10), self.call(Method::DELETE, "", None)).await;
    }
}

/// WebKit adds a field's placeholder to its name.
fn same_name(computed: &str, name: &str, role: &str) -> bool {
    computed == name
        || role == "textbox" && computed.strip_prefix(name).is_some_and(|placeholder| placeholder.starts_with(' '))
}

/// WebKit's names for roles differ a little from ARIA's.
fn same_role(computed: &str, role: &str) -> bool {
    let computed = computed.to_ascii_lowercase();
    computed == role
        || match role {
            "textbox" => ["textfield", "textarea", "searchbox", "text"].contains(&computed.as_str()),
            "combobox" => ["listbox", "popupbutton", "menubutton", "button"].contains(&computed.as_str()),
            "dialog" => computed == "alertdialog",
            _ => false,
        }
}
