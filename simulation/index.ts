/** The simulation's observer and what it is given to look at: for real clusters, too. Loads nothing that a mutant changes. */
export { type Applied, object, selector, template } from "./applied.ts";
export { Chance } from "./chance.ts";
export { mutate } from "./mutate.ts";
export type { ObservedCluster } from "./observer/observed.ts";
export { Observer, type Violation } from "./observer/observer.ts";
