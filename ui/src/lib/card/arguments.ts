/** Whether a call's arguments say more than the command that is shown anyway. Pure. */

/** True when the arguments must be shown beside the command: they hold anything else, or cannot be read at all. */
export function otherArguments(input: string, command: string): boolean {
  if (input.trim() === '') return false;
  let parsed: unknown;
  try {
    parsed = JSON.parse(input);
  } catch {
    return true;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return true;
  const values = Object.values(parsed);
  return values.length !== 1 || values[0] !== command;
}
