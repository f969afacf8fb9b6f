/** What is sent when the person answers. Pure. */
import type { Answer, Choice, Decision, Question, Request } from '$lib/contract';

export interface Reply {
  readonly choice: Choice;
  readonly reason?: string | null;
  readonly answers?: Answer[];
  readonly result?: string | null;
}

/** The digest is the one of the request that was on the card: other bytes are another request. */
export function decisionOf(request: Request, reply: Reply): Decision {
  return {
    session: request.session,
    request: request.id,
    digest: request.digest,
    choice: reply.choice.id,
    reason: reply.reason ?? null,
    answers: reply.answers ?? [],
    result: reply.result ?? null,
  };
}

/** The choice that reports a tool as unknown: nobody knows it, so there is no result to give. */
export const unknownTool = (request: Pick<Request, 'choices'>): Choice | undefined =>
  request.choices.find((choice) => choice.id === 'unknown_tool' && choice.kind === 'report_error');

/** What has been chosen and written for one question so far. */
export interface Draft {
  labels: string[];
  text: string;
}

export function isAnswered(question: Question, draft: Draft | undefined): boolean {
  if (draft === undefined) return false;
  return draft.labels.length > 0 || (question.free_text && draft.text.trim() !== '');
}

/** Answers carry the options' own labels, in the question's order, never ids made here. */
export function answersOf(request: Request, drafts: Readonly<Record<string, Draft>>): Answer[] {
  return request.questions.map((question) => {
    const draft = drafts[question.id] ?? { labels: [], text: '' };
    const text = draft.text.trim();
    return {
      question: question.id,
      labels: question.options.filter((option) => draft.labels.includes(option)),
      text: question.free_text && text !== '' ? text : null,
    };
  });
}
