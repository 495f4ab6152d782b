import { asking } from "./asking";
import { common } from "./common";
import { quality } from "./quality";
import { running } from "./running";
import { site } from "./site";

export const en = { ...common, ...asking, ...quality, ...running, ...site } as const;
