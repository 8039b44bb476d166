/** Answers about nodes, each worked out once. */
import type { Node } from "../../../kube/index.ts";

/** A projection of a node never changes, so that what was decided of it holds as long as it does. */
export function rememberedByNode<Answer>(classify: (node: Node) => Answer): (node: Node) => Answer {
  const answers = new WeakMap<Node, { answer: Answer }>();
  return (node) => {
    let held = answers.get(node);
    if (held === undefined) {
      held = { answer: classify(node) };
      answers.set(node, held);
    }
    return held.answer;
  };
}
