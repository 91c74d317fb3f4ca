// The page of a fleet: asks the server how it is going, or plays a record.

const by = (id) => document.getElementById(id);

/** Fills the table: one row of texts per member. */
function fill(rows) {
  by("members").replaceChildren(
    ...rows.map((texts) => {
      const row = document.createElement("tr");
      row.append(
        ...texts.map((text) => {
          const cell = document.createElement("td");
          cell.textContent = text;
          return cell;
        }),
      );
      return row;
    }),
  );
}

/** Counts that are not zero, as words. */
function reasons(counts) {
  const some = Object.entries(counts ?? {}).filter(([, n]) => n > 0);
  return some.length ? some.map(([why, n]) => `${n} ${why.replaceAll("_", " ")}`).join(", ") : "none";
}

// A choice is a number, and a vector a list of them.
function text(value) {
  if (value === null || value === undefined) return "-";
  return Array.isArray(value) ? `(${value.map((x) => x.toFixed(2)).join(", ")})` : String(value);
}
const share = (part, whole) => (whole ? `${part} of ${whole}` : text(part));

function live(found) {
  const world = found.members.find((m) => m.name === "world")?.status;
  by("title").textContent = `The fleet ${found.fleet}, file number ${found.number}`;
  const up = found.members.filter((m) => m.up).length;
  let words = `${up} of ${found.members.length} members are there.`;
  if (world) {
    const ms = (us) => (us === null ? "-" : `${(us / 1000).toFixed(2)} ms`);
    words += ` Episode ${world.episode}, step ${world.step}; a round takes ${ms(world.round_p50_us)} (median), `;
    words += `${ms(world.round_p99_us)} (99th percentile); ${share(world.missed, world.expected)} messages missed; `;
    words += `dropped by agents: ${reasons(world.dropped_by_agents)}.`;
  }
  if (found.forged) words += ` ${found.forged} words were forged, and not believed.`;
  by("summary").textContent = words;
  fill(
    found.members.map((m) => {
      const status = m.status ?? {};
      const index = Number(m.name.replace("agent-", ""));
      const there = m.revoked ? "revoked" : m.up ? "yes" : "no";
      const decides = m.name === "world" ? "" : text(status.action ?? world?.actions?.[index]);
      const step = m.status ? `${text(status.episode)} / ${text(status.step)}` : "";
      const dropped = m.name === "world" ? status.dropped_by_world : status.dropped_by_agents;
      // An agent of a world says nothing of itself; the world knows from its answers what it missed and dropped.
      const said = m.status ? { missed: status.missed, expected: status.expected, dropped } : world?.each?.[index];
      return [m.name, there, step, decides, said ? share(said.missed, said.expected) : "", said ? reasons(said.dropped) : ""];
    }),
  );
}

let record = null;
let timer = null;

function show(at) {
  const step = record.steps[at];
  by("place").textContent = `${at + 1} of ${record.steps.length}: episode ${step.episode}, step ${step.step}`;
  fill(
    step.actions.map((action, i) => {
      const missed = step.missed[i];
      const there = missed === null ? "no answer" : "yes";
      return [`agent-${i}`, there, `${step.episode} / ${step.step}`, text(action), text(missed), ""];
    }),
  );
}

function play(found) {
  record = found;
  by("title").textContent = "A recorded fleet";
  by("summary").textContent =
    `${found.steps.length} steps; ${found.sent} messages between agents were sent, ${found.received} arrived.`;
  by("player").hidden = found.steps.length === 0;
  by("at").max = Math.max(found.steps.length - 1, 0);
  by("at").addEventListener("input", () => show(Number(by("at").value)));
  by("play").addEventListener("click", () => {
    if (timer) {
      clearInterval(timer);
      timer = null;
    } else {
      timer = setInterval(() => {
        by("at").value = (Number(by("at").value) + 1) % found.steps.length;
        show(Number(by("at").value));
      }, 200);
    }
    by("play").textContent = timer ? "Stop" : "Play";
  });
  if (found.steps.length) show(0);
}

async function ask() {
  try {
    const answer = await fetch("/api/fleet");
    const found = await answer.json();
    by("link").textContent = "";
    if (!found.live) return play(found);
    live(found);
  } catch {
    by("link").textContent = "the server does not answer";
  }
  setTimeout(ask, 500);
}

ask();
