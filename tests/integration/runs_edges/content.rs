//! Several messages of one run, the writing of the stream, and long texts (numbers 12, 20 and 22).

use anyhow::{Context as _, Result};
use contract::{
    command::ReadPayload,
    item::{ItemBody, Part},
};
use practice::{RunsManner, StreamAct};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::rig::decision;

use super::hand::{emit, held, lines, over, ran, raw, result, said, tools};
use crate::runs::{Stage, is_over, says};

#[tokio::test]
async fn runs_edge_12_several_messages_of_a_run_stay_several() -> Result<()> {
    let mut stage = Stage::playing("runs-messages").await?;
    ran(&mut stage, "Step by step").await?;
    let wanted = ["First I look.", "Then I read.", "At last I answer: it is one function."];
    assert_eq!(said(&stage.view), wanted);
    // And so with a result that says but the last of them, or all in one.
    let mut stage = held(RunsManner::default()).await?;
    let tool = json!({"type": "tool_started", "call_id": "a", "name": "list_files", "arguments": {}});
    emit(
        &stage,
        &[
            json!({"type": "text_delta", "text": "One"}),
            tool,
            json!({"type": "tool_finished", "call_id": "a", "name": "list_files", "output": "", "ok": true, "skipped": false}),
            json!({"type": "text_delta", "text": "Two"}),
            json!({"type": "steered", "text": "More"}),
            json!({"type": "text_delta", "text": "Three "}),
            json!({"type": "text_delta", "text": "and a half"}),
            json!({"type": "finished", "text": "Three and a half"}),
        ],
    )?;
    raw(&stage, result("Something else", &json!([])))?;
    over(&mut stage).await?;
    assert_eq!(said(&stage.view), ["One", "Two", "Three and a half"]);
    Ok(())
}

#[tokio::test]
async fn runs_edge_12_a_result_is_the_answer_where_nothing_was_streamed() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    raw(&stage, result("Only here", &json!([])))?;
    over(&mut stage).await?;
    assert_eq!(said(&stage.view), ["Only here"]);
    Ok(())
}

async fn written(acts: &[StreamAct]) -> Result<Vec<String>> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    for act in acts {
        stage.rig.control.bend_next_stream(act.clone());
    }
    ran(&mut stage, "THINK 你好，世界 🌍\nWRITE:docs/使用说明.md\nBIG:20000").await?;
    Ok(lines(&stage.view))
}

#[tokio::test]
async fn runs_edge_20_every_writing_of_the_same_frames_gives_the_same_transcript() -> Result<()> {
    let plain = written(&[]).await?;
    assert!(plain.iter().any(|line| line.contains("使用说明.md")) && plain.len() > 5, "{plain:?}");
    let drip = |bytes| StreamAct::Drip { bytes, every_ms: 0 };
    let writings = [
        vec![StreamAct::CrLf],
        vec![StreamAct::Comments],
        vec![StreamAct::DataLines],
        vec![drip(7), StreamAct::CrLf, StreamAct::Comments, StreamAct::DataLines],
    ];
    for acts in writings {
        assert_eq!(written(&acts).await?, plain, "{acts:?}");
    }
    Ok(())
}

#[tokio::test]
async fn runs_edge_20_characters_cut_between_chunks_are_whole_and_a_block_without_a_name_is_an_event() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    let text = "\u{feff}: hello\r\n\r\ndata: {\"type\":\"text_delta\",\r\ndata: \"text\":\"你好 🌍\"}\r\n\r\ndata:{\"type\":\"text_delta\",\"text\":\"！\"}\n\nretry: 10\nid: 5\nevent: result\ndata: {\"text\":\"\"}\n\n";
    for byte in text.as_bytes() {
        raw(&stage, vec![*byte])?;
        tokio::task::yield_now().await;
    }
    over(&mut stage).await?;
    assert_eq!(said(&stage.view), ["你好 🌍！"]);
    assert!(!says(&stage.view, "Unknown") && !says(&stage.view, "Notice"), "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn runs_edge_20_bytes_that_are_no_text_are_replaced_and_said() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    raw(&stage, b"event: event\ndata: {\"type\":\"text_delta\",\"text\":\"a\xFFb\"}\n\n".to_vec())?;
    raw(&stage, result("", &json!([])))?;
    over(&mut stage).await?;
    assert_eq!(said(&stage.view), ["a\u{fffd}b"]);
    assert!(says(&stage.view, "Notice Warning BadUtf8"), "{}", stage.view.text());
    Ok(())
}

async fn whole(stage: &Stage, handle: &str, chars: u64) -> Result<String> {
    let mut text = String::new();
    while (text.chars().count() as u64) < chars {
        let from = text.chars().count() as u64;
        let read = ReadPayload { session: stage.view.session(), handle: handle.to_owned(), from, limit: 262_144 };
        let chunk = stage.rig.engine.read_payload(read).await?;
        anyhow::ensure!(!chunk.text.is_empty(), "nothing behind {from}");
        text.push_str(&chunk.text);
    }
    Ok(text)
}

#[tokio::test]
async fn runs_edge_22_a_long_output_is_shown_in_part_and_read_whole() -> Result<()> {
    let mut stage = Stage::playing("runs-large-output").await?;
    stage.say("Show the log").await?;
    let request = stage.card().await?;
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage.view.until("the end", |view| says(view, "It is long.") && is_over(view)).await?;
    let Some(Part::Text(output)) = tools(&stage.view)[0].output.first().cloned() else { anyhow::bail!("no output") };
    assert_eq!(output.chars, 3_000_000);
    assert!(output.text.len() < 100_000, "{} bytes went to the page", output.text.len());
    let handle = output.handle.context("no handle")?;
    let text = whole(&stage, &handle, output.chars).await?;
    assert!(text.starts_with(&output.text) && text.starts_with("00000001 the quick"));
    assert_eq!(text.len(), 3_000_000);
    Ok(())
}

#[tokio::test]
async fn runs_edge_22_a_long_command_is_all_there_before_it_is_allowed() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    let command = format!("echo {}", "很长的命令 ".repeat(20_000).trim_end());
    stage.say(&format!("RUN:{command}")).await?;
    let request = stage.card().await?;
    let shown = request.command.clone().context("no command")?;
    assert_eq!(shown.chars, command.chars().count() as u64);
    assert!(command.starts_with(&shown.text) && shown.text.len() < command.len());
    let handle = shown.handle.context("no handle")?;
    assert_eq!(whole(&stage, &handle, shown.chars).await?, command);
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage.view.until("the end", |view| says(view, "The tool said") && is_over(view)).await?;
    let subject = tools(&stage.view)[0].subject.clone().unwrap_or_default();
    assert!(subject.len() < 10_000, "{} bytes in one line", subject.len());
    assert!(
        stage.view.items.values().any(|item| matches!(&item.body, ItemBody::Tool(tool) if tool.ended_at.is_some()))
    );
    Ok(())
}
