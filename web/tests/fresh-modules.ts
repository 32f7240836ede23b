/** Each file of tests imports modules of its own, though it shares a worker with others. */
import { vi } from "vitest";

vi.resetModules();
