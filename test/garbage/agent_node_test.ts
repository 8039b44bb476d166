import { agentBearsGarbage } from "./agent.ts";

agentBearsGarbage("node", 20260401);
