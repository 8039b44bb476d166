/** Time and chance, from below: the sandbox takes them too, and it must not reach into this room. */
export * from "./core/clock.ts";
