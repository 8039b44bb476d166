/** Names of jobs, from which names of pods and children are made. Spec: jobs B6, A6. */
import {
  type FieldError,
  invalid,
  maxLengthMessage,
  patternMessage,
  utf8Length,
} from "../kube/core/index.ts";

const pattern = "^[a-zA-Z0-9\\-]+$";
const longest = 63;

/** `kind` begins the sentence: `BroadcastJob name must …`. A name that the server has still to make is not looked at. */
export function jobNameErrors(
  kind: string,
  metadata: { name?: string | undefined; generateName?: string | undefined },
): FieldError[] {
  const name = metadata.name ?? "";
  if (name === "" && metadata.generateName) return [];
  const messages: string[] = [];
  if (!new RegExp(pattern).test(name)) {
    const words = `${kind} name must consist of alphanumeric characters or '-'`;
    messages.push(patternMessage(words, pattern, "example-com"));
  }
  if (utf8Length(name) > longest) messages.push(maxLengthMessage(longest));
  return messages.map((message) => invalid("metadata.name", name, message));
}
