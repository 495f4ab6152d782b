/** Server-sent events from a byte stream: a pure parser, fed with text as it arrives. */

export interface ServerEvent {
  event: string;
  data: string;
  id: string | null;
}

/** An event longer than this is not ours: the stream is given up. */
const LONGEST = 2_000_000;

export class EventParser {
  private rest = "";

  /** The events that `text` completes. */
  feed(text: string): ServerEvent[] {
    const whole = this.rest + text;
    // A carriage return at the end may be half of a line end: it waits for what follows.
    const held = whole.endsWith("\r") ? "\r" : "";
    const blocks = whole.slice(0, whole.length - held.length).replace(/\r\n?/g, "\n").split("\n\n");
    this.rest = (blocks.pop() ?? "") + held;
    if (this.rest.length > LONGEST) throw new Error("an event of the stream is too long");
    return blocks.map(parse).filter((event) => event !== null);
  }
}

function parse(block: string): ServerEvent | null {
  let event = "message";
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    switch (line.slice(0, colon)) {
      case "event":
        event = value;
        break;
      case "data":
        data.push(value);
        break;
      case "id":
        id = value;
        break;
    }
  }
  return data.length === 0 ? null : { event, data: data.join("\n"), id };
}
