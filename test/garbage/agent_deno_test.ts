import { agentBearsGarbage } from "./agent.ts";

agentBearsGarbage("deno", 20260401);
