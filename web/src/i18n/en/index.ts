import { asking } from "./asking";
import { common } from "./common";
import { running } from "./running";
import { site } from "./site";

export const en = { ...common, ...asking, ...running, ...site } as const;
