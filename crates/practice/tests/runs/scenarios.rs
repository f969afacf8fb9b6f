//! The scenarios made for this protocol, and those of the other one.

use practice::Generation;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Frame, Live, Rig, asking, kinds, last, of, rig, rig_of};

/// Plays what one prompt plays of a scenario, answering everything it asks alike.
async fn play(rig: &Rig, id: &str, yes: bool) -> Vec<Frame> {
    let session = rig.runs.start_scenario(id).unwrap();
    for gate in ["middle", "end"] {
        rig.control.open_gate(&session, gate).unwrap();
    }
    let live = rig.prompt(&asking("go")).await;
    settle(rig, live, yes).await
}

async fn settle(rig: &Rig, mut live: Live, yes: bool) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Ok(frame) = live.frame().await {
        let call = frame.data["call_id"].as_str().unwrap_or_default().to_owned();
        match frame.data["type"].as_str() {
            Some("approval_requested") if frame.data["approved"].is_null() => {
                assert!(rig.approve(&call, yes).await);
            }
            Some("question_asked") => assert!(rig.answer(&call, yes.then_some("this one")).await),
            _ => {}
        }
        frames.push(frame);
    }
    frames
}

fn text(frames: &[Frame]) -> String {
    of(frames, "text_delta").iter().map(|event| event["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_scenario_ends_with_one_terminal_frame_whatever_is_answered() {
    let rig = rig().await;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/scenarios");
    let mut played = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // Eighty megabytes are what the tests of bytes are for.
        let Some(id) = name.strip_suffix(".json").filter(|id| *id != "oversized") else { continue };
        for yes in [true, false] {
            let frames = play(&rig, id, yes).await;
            let ends = |frame: &&Frame| matches!(frame.event.as_str(), "result" | "error" | "cancelled");
            assert_eq!(frames.iter().filter(ends).count(), 1, "{id}");
            assert!(ends(&frames.last().unwrap()), "{id}");
            played += 1;
        }
    }
    assert!(played >= 2 * 40, "{played}");
}

#[tokio::test]
async fn people_are_offered_those_worth_watching_and_not_on_the_other_protocol() {
    let ids = |rows: Vec<contract::command::ScenarioRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(ids(practice::runs_scenarios()), ["runs-coding", "runs-chinese"]);
    assert!(!ids(practice::scenarios()).iter().any(|id| id.starts_with("runs-")));
}

#[tokio::test]
async fn the_coding_run_asks_a_question_and_a_command_and_follows_the_answers() {
    let rig = rig().await;
    let (yes, no) = (play(&rig, "runs-coding", true).await, play(&rig, "runs-coding", false).await);
    assert!(text(&yes).contains("Then it is this one.") && text(&yes).contains("All 22 tests pass"));
    assert!(text(&no).contains("I take a cursor") && text(&no).contains("I did not run the tests"));
}

#[tokio::test]
async fn the_chinese_run_is_chinese_to_its_folder() {
    let rig = rig_of(Generation::Seed).await;
    let frames = play(&rig, "runs-chinese", true).await;
    assert_eq!(of(&frames, "approval_requested")[0]["work_dir"], "客户端/网页");
    assert!(text(&frames).contains("好的，用 this one。") && text(&frames).contains("22 项测试全部通过"));
}

#[tokio::test]
async fn reasoning_has_a_start_and_an_end_since_0_2_0() {
    let thought = ["reasoning_started", "reasoning_delta", "reasoning_finished"];
    for (generation, wanted) in [(Generation::First, &thought[1..2]), (Generation::Second, &thought[..])] {
        let rig = rig_of(generation).await;
        let frames = play(&rig, "runs-thinking", true).await;
        assert_eq!(kinds(&frames)[..wanted.len()], *wanted);
    }
}

#[tokio::test]
async fn a_compaction_tells_its_summary_and_one_that_applied_nothing_tells_none() {
    for (generation, deltas) in [(Generation::First, 0), (Generation::Second, 2)] {
        let rig = rig_of(generation).await;
        let frames = play(&rig, "runs-compaction", true).await;
        let finished = of(&frames, "compaction_finished");
        assert_eq!((&finished[0]["applied"], &finished[1]["applied"]), (&json!(true), &json!(false)));
        assert_eq!(finished[0]["summary"], "The person wants the handlers split up. Two of five are done.");
        assert_eq!(finished[1]["summary"], "");
        assert_eq!(kinds(&frames).iter().filter(|kind| *kind == "compaction_delta").count(), deltas);
        let roles: Vec<_> = rig.history().await.iter().map(|message| message["role"].clone()).collect();
        assert_eq!(roles, ["user", "assistant", "summary", "assistant", "assistant"]);
    }
}

#[tokio::test]
async fn each_reason_to_stop_comes_as_an_event_and_in_the_result() {
    let rig = rig().await;
    for reason in ["refusal", "max_output", "context_full", "paused", "interrupted", "other"] {
        let frames = play(&rig, &format!("runs-stop-{}", reason.replace('_', "-")), true).await;
        assert_eq!(kinds(&frames), ["text_delta", "usage_updated", "model_stopped", "finished", "result"]);
        let (stopped, result) = (of(&frames, "model_stopped")[0], last(&frames).1);
        assert_eq!((&stopped["reason"], &result["stop"]), (&json!(reason), &json!(reason)));
        assert_eq!(stopped["message"], result["stop_message"]);
    }
}

#[tokio::test]
async fn a_result_holds_only_the_last_of_several_messages() {
    let rig = rig().await;
    let frames = play(&rig, "runs-messages", true).await;
    assert_eq!(last(&frames).1["text"], "At last I answer: it is one function.");
    assert!(text(&frames).starts_with("First I look.Then I read."));
    assert_eq!(last(&frames).1["usage"]["requests"], 3);
}

#[tokio::test]
async fn approvals_decided_by_a_rule_are_only_shown() {
    let rig = rig().await;
    let frames = play(&rig, "runs-ruled", true).await;
    let told: Vec<_> = of(&frames, "approval_requested").iter().map(|asked| asked["approved"].clone()).collect();
    assert_eq!(told, [true, false]);
    assert!(rig.control.counters().decisions.is_empty());
}

#[tokio::test]
async fn a_providers_own_tools_stay_within_the_model_request() {
    let rig = rig().await;
    let frames = play(&rig, "runs-server-tool", true).await;
    let shown = kinds(&frames);
    assert_eq!(shown[..4], ["text_delta", "server_tool_started", "server_tool_finished", "server_tool_started"]);
    assert_eq!(of(&frames, "usage_updated").len(), 1);
    let finished = of(&frames, "server_tool_finished");
    assert_eq!((&finished[0]["ok"], &finished[1]["ok"]), (&json!(true), &json!(false)));
    assert_eq!(finished[0]["arguments"], json!({"query": "python release notes"}));
}

#[tokio::test]
async fn results_come_in_another_order_than_calls_where_the_script_says_so() {
    let rig = rig().await;
    let frames = play(&rig, "runs-out-of-order", true).await;
    let of_kind =
        |kind| of(&frames, kind).iter().map(|event| event["call_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let (started, finished) = (of_kind("tool_started"), of_kind("tool_finished"));
    assert_eq!(finished, [started[2].clone(), started[0].clone(), started[1].clone()]);
    let listed: Vec<_> =
        last(&frames).1["tools"].as_array().unwrap().iter().map(|tool| tool["call_id"].clone()).collect();
    assert_eq!(listed, started, "the result keeps the order of the calls");
}

#[tokio::test]
async fn a_skipped_call_says_so_and_a_large_output_is_whole() {
    let rig = rig().await;
    let frames = play(&rig, "runs-skipped", true).await;
    let told: Vec<_> = of(&frames, "tool_finished").iter().map(|tool| tool["skipped"].clone()).collect();
    assert_eq!(told, [false, true]);
    assert_eq!(last(&frames).1["tools"][1]["skipped"], true);
    let frames = play(&rig, "runs-large-output", true).await;
    assert_eq!(of(&frames, "tool_finished")[0]["output"].as_str().unwrap().len(), 3_000_000);
}

#[tokio::test]
async fn notices_have_a_level_or_none() {
    let rig = rig().await;
    let frames = play(&rig, "runs-notices", true).await;
    let levels: Vec<_> = of(&frames, "notice").iter().map(|notice| notice.get("level").cloned()).collect();
    assert_eq!(levels, [Some(json!("info")), Some(json!("warn")), None, Some(json!("critical"))]);
}

#[tokio::test]
async fn what_no_page_knows_arrives_word_for_word() {
    let rig = rig().await;
    let frames = play(&rig, "runs-unknown", true).await;
    let told: Vec<_> = frames
        .iter()
        .filter(|frame| frame.data["type"] != "text_delta")
        .map(|frame| (frame.event.as_str(), frame.data.clone()))
        .collect();
    assert_eq!(told[0], ("event", json!({"type": "event", "name": "MoodChanged"})));
    assert_eq!(told[1], ("event", json!({"type": "raw"})));
    assert_eq!(told[2].1["type"], "telemetry_sampled");
    assert_eq!(told[3], ("progress", json!({"percent": 40})));
    assert_eq!(told[4].0, "", "no name at all");
    assert_eq!(told[5].1.get("type"), None);
}

#[tokio::test]
async fn an_error_comes_as_the_first_frame_or_in_the_middle() {
    let rig = rig().await;
    assert_eq!(kinds(&play(&rig, "runs-error-first", true).await), ["error"]);
    let frames = play(&rig, "runs-error-late", true).await;
    assert_eq!(last(&frames), ("error", &json!({"error": "run", "message": "The provider dropped the connection"})));
    assert_eq!(kinds(&frames).iter().filter(|kind| *kind == "usage_updated").count(), 1);
}

#[tokio::test]
async fn each_prompt_plays_its_part_of_a_script() {
    let rig = rig().await;
    assert_eq!(text(&play(&rig, "runs-talk", true).await), "The first part.");
    assert_eq!(text(&rig.run(&json!({"text": "well?"})).await), "The second part, after: well?");
    assert_eq!(text(&rig.run(&json!({"text": "more"})).await), "Hello! You said: more", "the script is over");
}

#[tokio::test]
async fn a_prompt_can_name_a_scenario() {
    let rig = rig().await;
    let frames = rig.run(&json!({"text": "PLAY:runs-plain"})).await;
    assert_eq!(last(&frames).1["text"], "Hello. I am a practice agent and run nothing.");
}

#[tokio::test]
async fn a_held_session_goes_one_piece_further_with_each_step() {
    let rig = rig().await;
    rig.control.hold_session(None).unwrap();
    let session = rig.runs.start_scenario("runs-plain").unwrap();
    let mut live = rig.prompt(&asking("go")).await;
    rig.runs.wait(Some(&session), None, None, Some(true)).await.unwrap();
    rig.control.step(&session).unwrap();
    assert_eq!(live.frame().await.unwrap().data["text"], "Hello. ");
    assert_eq!(rig.runs.wait(Some(&session), Some(true), None, Some(true)).await.unwrap()["pending"], Value::Null);
    rig.control.release(None).unwrap();
    assert_eq!(last(&live.rest().await.0).0, "result");
}
