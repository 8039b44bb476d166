import type { Condition, LabelSelector } from "../../kube/core/index.ts";

/** A type of the API as its JSON is read here: times are texts, conditions and selectors those of kube/core. */
export type AsJson<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? AsJson<Item>[]
    : T extends object
      ? {
          [Name in keyof T]: Name extends "conditions"
            ? Condition[]
            : Name extends "selector" | "labelSelector"
              ? LabelSelector
              : AsJson<T[Name]>;
        }
      : T;
