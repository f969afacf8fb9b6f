/** Words for how a session is set up, and for the cards of this app's own tools. */
import type { OwnToolCall, Request } from '$lib/contract';
import type { ImportProblem } from '$lib/imported';
import type { OwnTool } from '$lib/setup';
import { m } from '$paraglide/messages';

const OWN: Record<OwnTool, () => string> = {
  ask_user: m.own_ask_user,
  notify_user: m.own_notify_user,
  open_link: m.own_open_link,
  read_clipboard: m.own_read_clipboard,
  write_clipboard: m.own_write_clipboard,
};

/** What one of this app's tools does, in one sentence. */
export const ownToolWords = (tool: OwnTool): string => OWN[tool]();

export function importWords(problem: ImportProblem): string {
  switch (problem.kind) {
    case 'no_json':
      return m.import_no_json();
    case 'no_list':
      return m.import_no_list();
    case 'no_message':
      return m.import_no_message({ index: problem.index });
    case 'no_text':
      return m.import_no_text({ index: problem.index });
    case 'no_role':
      return m.import_no_role({ index: problem.index, role: problem.role });
    case 'not_text':
      return m.import_not_text({ index: problem.index, type: problem.type });
    case 'no_prefix':
      return m.import_no_prefix({ line: problem.line });
  }
}

const TITLES: Record<OwnToolCall['tool'], () => string> = {
  notify_user: m.own_notify_title,
  open_link: m.own_link_title,
  read_clipboard: m.own_read_title,
  write_clipboard: m.own_write_title,
};
const DOES: Record<OwnToolCall['tool'], () => string> = {
  notify_user: m.own_notify_do,
  open_link: m.own_link_do,
  read_clipboard: m.own_read_do,
  write_clipboard: m.own_write_do,
};

/** What is asked where one of this app's own tools is called. */
export const ownTitle = (call: OwnToolCall): string => TITLES[call.tool]();

/** What the button says that allows a request once. */
export const allowWords = (request: Request): string =>
  request.own_tool === undefined ? m.ask_allow() : DOES[request.own_tool.tool]();
