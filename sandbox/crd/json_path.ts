/** The simple JSON paths of printer columns and selectable fields: `.status.conditions[?(@.type=="Ready")].status`. */
import { isFields } from "../json.ts";

type Step = (values: readonly unknown[]) => readonly unknown[];

/** A reader of the values at a path, in order; undefined when the path cannot be understood. */
export function jsonPath(path: string): ((value: unknown) => readonly unknown[]) | undefined {
  const steps = parseSteps(path.replace(/^\{|\}$/g, ""));
  if (steps === undefined) return undefined;
  return (value) => steps.reduce<readonly unknown[]>((values, step) => step(values), [value]);
}

const stepPattern =
  /\.(?<member>(?:\\.|[^.[\\])+)|\[\?\(\s*@(?<where>[^=!<>\s]*)\s*(?<operator>==|!=)\s*(?<literal>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\]|\[(?<index>-?\d+|\*)\]|\[(?<quoted>'[^']*'|"[^"]*")\]/gy;

function parseSteps(path: string): Step[] | undefined {
  const steps: Step[] = [];
  // A filter holds a path of its own: the position is kept here, the pattern's is the inner path's afterwards.
  for (let at = 0; at < path.length; ) {
    stepPattern.lastIndex = at;
    const match = stepPattern.exec(path);
    if (match === null) return undefined;
    at = stepPattern.lastIndex;
    const step = stepOf(match.groups ?? {});
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return steps;
}

function stepOf(groups: Readonly<Record<string, string | undefined>>): Step | undefined {
  const { member, quoted, index, where, operator, literal } = groups;
  if (member !== undefined) {
    const name = member.replace(/\\(.)/g, "$1");
    return name === "*" ? spread : memberStep(name);
  }
  if (quoted !== undefined) return memberStep(quoted.slice(1, -1));
  if (index === "*") return spread;
  if (index !== undefined) return indexStep(Number(index));
  if (where === undefined || literal === undefined) return undefined;
  const read = jsonPath(where);
  if (read === undefined) return undefined;
  const wanted = literal.replace(/^["']|["']$/g, "");
  const equal = operator === "==";
  return (values) => spread(values).filter((value) => (String(read(value)[0]) === wanted) === equal);
}

const spread: Step = (values) =>
  values.flatMap((value) => (Array.isArray(value) ? value : isFields(value) ? Object.values(value) : []));

function memberStep(name: string): Step {
  return (values) =>
    values.flatMap((value) => (isFields(value) && value[name] !== undefined ? [value[name]] : []));
}

function indexStep(index: number): Step {
  return (values) =>
    values.flatMap((value) => {
      const item: unknown = Array.isArray(value) ? value.at(index) : undefined;
      return item === undefined ? [] : [item];
    });
}
