//! What a page looks like: its picture and its size.

use anyhow::{Context as _, Result, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    LIMIT,
    page::{Element, Page},
};

impl Page {
    /// A picture of what the window shows, as a PNG file's bytes.
    ///
    /// # Errors
    /// Where the engine gives none: with the plain renderer it never does.
    pub async fn picture(&self) -> Result<Vec<u8>> {
        let picture = self.call(Method::GET, "/screenshot", None).await.context("no picture of the page")?;
        Ok(BASE64_STANDARD.decode(picture.as_str().context("the picture is no text")?)?)
    }

    /// Waits until fonts are there and what was changed last is drawn.
    ///
    /// # Errors
    /// Where the page is gone.
    pub async fn settle(&self) -> Result<()> {
        let drawn = "const done = arguments[arguments.length - 1]; document.fonts.ready.then(() => \
                     requestAnimationFrame(() => requestAnimationFrame(() => done(true))));";
        self.run_async(drawn, json!([])).await.map(drop)
    }

    /// The size of what is shown, in the page's own pixels.
    ///
    /// # Errors
    /// Where the page is gone.
    pub async fn size(&self) -> Result<(u32, u32)> {
        Ok(serde_json::from_value(self.run("return [innerWidth, innerHeight]", Value::Null).await?)?)
    }

    /// Gives the window another size and waits until the page has it.
    ///
    /// # Errors
    /// Where it does not get it.
    pub async fn resize(&self, (width, height): (u32, u32)) -> Result<()> {
        self.call(Method::POST, "/window/rect", Some(json!({ "width": width, "height": height }))).await?;
        let has_it = "const [width, height, limit, done] = arguments; let timer = 0; \
                      const right = () => innerWidth === width && innerHeight === height; \
                      function look() { if (right()) end(); } \
                      function end() { removeEventListener('resize', look); clearTimeout(timer); done(right()); } \
                      addEventListener('resize', look); timer = setTimeout(end, limit); look();";
        let limit = LIMIT.as_millis() as u64;
        if self.run_async(has_it, json!([width, height, limit])).await? != json!(true) {
            bail!("the window does not become {width}×{height}: it is {:?}", self.size().await?);
        }
        self.settle().await
    }

    /// Whether a radio button or checkbox is chosen.
    ///
    /// # Errors
    /// Where it is gone.
    pub async fn is_chosen(&self, element: &Element) -> Result<bool> {
        let chosen = self.call(Method::GET, &format!("/element/{}/selected", element.0), None).await?;
        Ok(chosen == json!(true))
    }
}
