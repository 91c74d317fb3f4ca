// Drives the live page in a real browser, as a person would. Called by .ci/browser with a server that shows a folder of
// small real runs: node page.mjs URL RUNS_DIR EQUIMARL SERVER_LOG
//
// With PICTURES=folder in the environment it also keeps screenshots.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const [url, runs, program, log] = process.argv.slice(2);
const { chromium } = createRequire(path.join(process.env.PLAYWRIGHT_HOME, "x.js"))("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

/** A page of its own, which must not complain and must not ask anybody else. */
async function open(hash, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(20000);
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("request", (request) => assert.ok(request.url().startsWith(url), `asked elsewhere: ${request.url()}`));
  await page.goto(url + hash);
  return page;
}

async function done(page) {
  assert.deepEqual(page.complaints, []);
  await page.context().close();
}

async function picture(page, name) {
  if (!process.env.PICTURES) return;
  await page.waitForTimeout(700);
  await page.screenshot({ path: path.join(process.env.PICTURES, `${name}.png`), fullPage: true });
}

const text = (page, id) => page.locator(`#${id}`).textContent();
const answered = (page) => page.waitForFunction(() => document.querySelector("#agents article") !== null && document.body.dataset.busy === "no");
const probabilities = (page) => page.locator("#agents").textContent();
const idle = (page) => page.waitForFunction(() => document.body.dataset.busy === "no");
/** Does something and waits until the page has drawn all answers to it. */
async function after(page, action) {
  await idle(page);
  await action();
  await idle(page);
  assert.equal(await page.locator("#problem").textContent(), "");
}

async function team(page, id) {
  await after(page, () => page.selectOption("#model", id));
}

const difference = async (page) => Number(await page.locator("#verdict").getAttribute("data-difference"));

const tests = {
  async "curves of real runs appear, with a list and a difference"() {
    const page = await open("#runs");
    await page.waitForSelector("figure[data-world='wildlife-3'] path.fig-line");
    assert.ok((await page.locator("figure[data-world='wildlife-3'] path.fig-line").count()) >= 2);
    assert.match(await text(page, "runs-note"), /finished/);
    assert.equal(await page.locator("tr[data-run='small/equivariant'] .state").textContent(), "finished");
    await page.selectOption("#diff-a", "small/equivariant");
    await page.selectOption("#diff-b", "small/plain");
    await page.waitForFunction(() => /^Settingsmall\/equivariantsmall\/plainmethod/.test(document.querySelector("#diff-table").textContent));
    const updates = () => page.locator("#figures").getAttribute("data-updates");
    const before = await updates();
    await page.uncheck("tr[data-run='small/plain'] input");
    await page.waitForFunction((b) => document.querySelector("#figures").dataset.updates !== b, before);
    await picture(page, "runs");
    // From here to another view, which says what it shows.
    await page.click("nav a[href='#symmetry']");
    await page.waitForFunction(() => /looks at each by itself/.test(document.querySelector("#subtitle").textContent));
    await done(page);
  },

  async "play, pause, step, speed, seed and a new episode"() {
    const page = await open("#episode");
    await answered(page);
    // A team that knows nothing yet plays long enough to be paused.
    await team(page, "fresh:wildlife:plain");
    await after(page, () => page.click("#step"));
    assert.equal(await text(page, "steps"), "1");
    assert.match(await text(page, "total"), /−0\.050/);
    await page.fill("#speed", "9");
    await page.click("#play");
    await page.waitForFunction(() => Number(document.querySelector("#steps").textContent) >= 3 || !document.querySelector("#ending").hidden);
    if (await page.locator("#ending").isHidden()) await page.click("#play");
    await page.waitForTimeout(300);
    const steps = await text(page, "steps");
    await page.waitForTimeout(500);
    assert.equal(await text(page, "steps"), steps, "it is paused");
    assert.ok((await page.locator("#agents canvas.observation").count()) === 3, "every agent's picture");
    assert.match(await text(page, "value"), /\d/);
    await after(page, () => page.click("#new"));
    assert.equal(await text(page, "steps"), "0");
    const first = await probabilities(page);
    await after(page, async () => {
      await page.fill("#seed", "12");
      await page.locator("#seed").blur();
    });
    assert.notEqual(await probabilities(page), first, "another seed is another episode");
    await done(page);
  },

  async "an equivariant model turns with its world, a plain one breaks"() {
    const page = await open("#symmetry");
    await answered(page);
    for (const world of ["wildlife", "traffic"]) {
      for (const id of [`run:small/${world === "wildlife" ? "" : "traffic-"}equivariant`, `fresh:${world}:equivariant`]) {
        await team(page, id);
        for (const element of ["r", "r2", "r3"]) {
          await after(page, () => page.click(`[data-element="${element}"]`));
          assert.ok((await difference(page)) < 1e-5, `${id} ${element}: ${await difference(page)}`);
          assert.equal(await page.locator("#verdict").getAttribute("data-holds"), "yes");
        }
      }
      const plain = `run:small/${world === "wildlife" ? "" : "traffic-"}plain`;
      await team(page, plain);
      assert.ok((await difference(page)) > 1e-3, `${plain}: ${await difference(page)}`);
      assert.match(await text(page, "judgement"), /breaks/);
      assert.ok((await page.locator("#there .halo").count()) > 0, "coloured where it differs");
      console.log(`   ${plain}: ${await text(page, "difference")}`);
      await team(page, `fresh:${world}:plain`);
      assert.ok((await difference(page)) > 1e-3);
    }
    // Switching keeps the state, so that the two kinds are seen in the same situation.
    await team(page, "run:small/equivariant");
    const drones = () => page.locator("#here [data-name=drone]").evaluateAll((all) => all.map((a) => [a.getAttribute("cx"), a.getAttribute("cy")].join()).join());
    const where = await drones();
    await after(page, () => page.click("#plain"));
    assert.equal(await drones(), where);
    assert.equal(await page.locator("#model").inputValue(), "run:small/plain");
    // A network under C4 does not know mirrors.
    await team(page, "run:small/equivariant");
    await after(page, () => page.click('[data-element="m"]'));
    assert.match(await text(page, "judgement"), /not built into/);
    await done(page);
  },

  async "like is compared with like, and both are named"() {
    const page = await open("#symmetry");
    await answered(page);
    const chosen = () => page.locator("#model").inputValue();
    await team(page, "run:small/equivariant");
    assert.equal(await text(page, "plays"), "Equivariant (C4), 8,000 steps, seed 1, run small/equivariant.");
    assert.equal(await text(page, "beside"), "Compared with plain, 8,000 steps, seed 1, run small/plain.");
    await after(page, () => page.click("#plain"));
    assert.equal(await chosen(), "run:small/plain");
    assert.equal(await text(page, "plays"), "Plain, 8,000 steps, seed 1, run small/plain.");
    assert.match(await text(page, "beside"), /^Compared with equivariant \(C4\), 8,000 steps, seed 1, run small\/equivariant\.$/);
    await after(page, () => page.click("#equivariant"));
    assert.equal(await chosen(), "run:small/equivariant");
    // An augmented team is neither of the two.
    await team(page, "run:small/equivariant-augmented");
    for (const kind of ["equivariant", "plain"]) assert.equal(await page.locator(`#${kind}`).getAttribute("aria-pressed"), "false");
    // Where there is nothing alike, that is said, and an untrained team is called one.
    await team(page, "run:alone/equivariant");
    assert.equal(await text(page, "plain"), "Plain, untrained");
    assert.match(await text(page, "beside"), /^No plain team of wildlife-4 with the same settings was trained here\. An untrained one can be shown/);
    await after(page, () => page.click("#plain"));
    assert.match(await text(page, "plays"), /^Plain, untrained \(random weights\)\.$/);
    assert.match(await text(page, "beside"), /run alone\/equivariant/);
    assert.equal(await page.locator("#here .agent").count(), 4, "in the same world");
    assert.ok((await difference(page)) > 1e-3);
    await after(page, () => page.click("#equivariant"));
    assert.equal(await chosen(), "run:alone/equivariant");
    await done(page);
  },

  async "seeds are counted once, and runs that chose rates are not among them"() {
    const again = path.join(runs, "again");
    fs.cpSync(path.join(runs, "small/equivariant"), again, { recursive: true });
    const page = await open("#runs");
    await page.waitForSelector("tr[data-run='again']");
    const figure = page.locator("figure[data-world='wildlife-3']");
    await page.waitForFunction(() => /Each seed counts once/.test(document.querySelector("figure[data-world='wildlife-3']")?.textContent));
    assert.doesNotMatch(await figure.textContent(), /seeds\)|choose the rate/);
    assert.equal(await page.locator("tr[data-run='small-rates/a'] input").isChecked(), false);
    assert.match(await text(page, "runs-note"), /2 were made to choose learning rates/);
    await page.check("tr[data-run='small-rates/a'] input");
    await page.waitForFunction(() => /equivariant, to choose the rate/.test(document.querySelector("figure[data-world='wildlife-3']").textContent));
    fs.rmSync(again, { recursive: true });
    await page.locator("tr[data-run='again']").waitFor({ state: "detached" });
    await done(page);
  },

  async "many teams are arranged by sweep and world, and can be searched"() {
    const many = path.join(runs, "many");
    for (let k = 0; k < 12; k++) fs.cpSync(path.join(runs, k % 2 === 0 ? "small/equivariant" : "small/plain"), path.join(many, `team-${k}`), { recursive: true });
    const page = await open("#episode");
    await answered(page);
    const labels = () => page.locator("#model optgroup").evaluateAll((all) => all.map((part) => part.label));
    for (const label of ["many: wildlife-3", "small: wildlife-3", "small: traffic-2x2", "alone: wildlife-4", "small-rates: wildlife-3 (made to choose learning rates)"]) {
      assert.ok((await labels()).includes(label), `${label}: ${await labels()}`);
    }
    assert.equal((await labels()).at(-1), "Untrained, random weights");
    assert.match((await labels()).at(-2), /learning rates/);
    const names = await page.locator("#model option").allTextContents();
    assert.equal(new Set(names).size, names.length, "no two are called the same");
    assert.ok(names.every((name) => name.length < 60), names.join("\n"));
    await page.fill("#find", "many plain");
    assert.equal(await page.locator("#model option:not(:checked)").count(), 6);
    await team(page, "run:many/team-3");
    await page.fill("#find", "");
    assert.equal(await page.locator("#model").inputValue(), "run:many/team-3");
    fs.rmSync(many, { recursive: true });
    await page.waitForFunction(() => document.querySelector("#find-team").hidden);
    page.complaints = page.complaints.filter((text) => !text.includes("404"));
    await done(page);
  },

  async "a world whose edges are joined says and shows it"() {
    const page = await open("#symmetry");
    await answered(page);
    await team(page, "run:small/equivariant");
    assert.match(await text(page, "edges"), /torus: opposite edges are joined/);
    for (const board of ["here", "there"]) assert.equal(await page.locator(`#${board} .openings`).count(), 1);
    // Two drones that are neighbours across an edge are linked across it, and not through the whole field.
    const longest = () => page.locator("#here .link").getAttribute("d").then((d) => Math.max(0, ...[...d.matchAll(/l(\S+) (\S+?)(?=M|$)/g)].map(([, x, y]) => Math.max(Math.abs(x), Math.abs(y)))));
    for (let k = 0; k < 6; k++) {
      assert.ok((await longest()) <= 3.001, `a link of ${await longest()}`);
      await after(page, () => page.click("#new"));
    }
    await team(page, "run:small/traffic-equivariant");
    assert.equal(await text(page, "edges"), "");
    assert.equal(await page.locator(".openings").count(), 0);
    await done(page);
  },

  async "a team that is told of the wind turns with it, and not without; the wind is seen"() {
    const told = path.join(runs, "told");
    const trained = spawnSync(program, ["train", "--world", "wildlife", "--wind", "0.4", "--method", "cause", "--preset", "paper", "--steps", "800", "--seed", "1",
      "--threads", "1", "--quiet", "--set", "evaluate_every=0", "--set", "evaluate_episodes=2", "--out", told], { stdio: "inherit" });
    assert.equal(trained.status, 0);
    const page = await open("#symmetry");
    await answered(page);
    await page.waitForSelector("option[value='run:told']", { state: "attached" });
    const line = (board) => page.locator(`#${board} [data-name=caption]`).textContent();
    const verdict = () => page.locator("#verdict").getAttribute("data-holds");
    await team(page, "run:told");
    await after(page, () => page.click('[data-element="r"]'));
    assert.ok(await page.locator("#along").isChecked(), "it is turned along for who is told");
    assert.deepEqual([await line("here"), await line("there")], ["wind 0.4 from the west", "wind 0.4 from the south"]);
    for (const board of ["here", "there"]) assert.equal(await page.locator(`#${board} [data-name=wind]`).count(), 2);
    assert.ok((await difference(page)) < 1e-5, `${await difference(page)}`);
    assert.equal(await verdict(), "yes");
    assert.match(await text(page, "inside-note"), /the same numbers stand in other rows/);
    await picture(page, "told-along");
    await after(page, () => page.uncheck("#along"));
    assert.equal(await line("there"), "wind 0.4 from the west");
    assert.ok((await difference(page)) > 1e-4, `${await difference(page)}`);
    assert.equal(await verdict(), "fixed");
    assert.match(await text(page, "judgement"), /^NOT equivariant while what breaks the symmetry is held fixed, as it should be: this network is told of it\.$/);
    assert.match(await text(page, "inside-note"), /other numbers stand in other rows/);
    await picture(page, "told-fixed");
    // What was asked for holds while the team plays, and another team begins as it wants to.
    await after(page, () => page.click("#step"));
    assert.equal(await page.locator("#along").isChecked(), false);
    // A mirror is not built in, and that is what is said of it.
    await after(page, () => page.click('[data-element="m"]'));
    assert.match(await text(page, "judgement"), /not built into/);
    await team(page, "run:small/equivariant");
    assert.ok(await page.locator("#cause").isHidden(), "nothing breaks this world's symmetry");
    assert.equal(await page.locator("[data-name=wind], [data-name=caption]").count(), 0);
    await team(page, "run:told");
    assert.ok(await page.locator("#along").isChecked());
    await team(page, "run:small/equivariant");
    fs.rmSync(told, { recursive: true });
    await page.locator("option[value='run:told']").waitFor({ state: "detached" });
    await done(page);
  },

  async "the world and Play are seen without scrolling"() {
    for (const [width, height] of [[1280, 900], [1280, 720]]) {
      const page = await open("#symmetry", { viewport: { width, height } });
      await answered(page);
      for (const view of ["symmetry", "episode"]) {
        await page.evaluate((v) => (location.hash = v), view);
        for (const id of ["run:small/equivariant", "run:small/traffic-plain", "run:alone/equivariant"]) {
          await team(page, id);
          await page.evaluate(() => scrollTo(0, 0));
          const box = async (selector) => page.locator(selector).boundingBox();
          const [play, board] = [await box("#play"), await box("#here > svg")];
          const what = `${view} ${id} at ${height}: Play ends at ${play.y + play.height}, the world at ${board.y + board.height}`;
          assert.ok(play.y + play.height <= height, what);
          // In a low window, playing stays at hand above the lower part of the world.
          if (height === 900) assert.ok(board.y + board.height <= play.y, what);
          assert.ok(board.height > 300 || height < 900, what);
        }
      }
      await done(page);
    }
  },

  async "dragging drones, the poacher and vehicles, and switching lights"() {
    const page = await open("#episode");
    await answered(page);
    const middle = async (selector) => {
      const box = await page.locator(selector).first().boundingBox();
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const drag = async (selector, dx, dy) => {
      const before = await probabilities(page);
      const [x, y] = await middle(selector);
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x + dx / 2, y + dy / 2, { steps: 3 });
      await page.mouse.move(x + dx, y + dy, { steps: 3 });
      await page.mouse.up();
      await page.waitForFunction((b) => document.querySelector("#agents").textContent !== b, before);
      await idle(page);
    };
    await team(page, "run:small/equivariant");
    const field = await page.locator("#here [data-name=field]").boundingBox();
    const cell = field.width / 7;
    const inwards = async (selector) => {
      const [x, y] = await middle(selector);
      return [x > field.x + field.width / 2 ? -1 : 1, y > field.y + field.height / 2 ? -1 : 1];
    };
    for (const selector of ["#here [data-name=poacher]", "#here [data-key='drone 1'] [data-name=drone]"]) {
      const [sx, sy] = await inwards(selector);
      await drag(selector, 2 * sx * cell, sy * cell);
      console.log(`   an edit took ${await page.evaluate(() => document.body.dataset.latency)} ms until it was seen`);
    }
    await team(page, "fresh:traffic:equivariant");
    await page.evaluate(() => {
      window.glided = 0;
      const { animate } = Element.prototype;
      Element.prototype.animate = function (...what) {
        window.glided += this.matches(".thing") ? 1 : 0;
        return animate.apply(this, what);
      };
    });
    for (let k = 0; k < 14; k++) await after(page, () => page.keyboard.press("."));
    assert.ok((await page.evaluate(() => window.glided)) > 0, "what drives is seen to drive");
    // Onto the other street's first lane, wherever it was.
    const first = page.locator("#here [data-key='vehicle 0'] [data-name=vehicle]");
    const { row, col, unit } = await first.evaluate((vehicle) => {
      const { x, y, width, height } = vehicle.getBBox();
      return { col: Math.floor(x + width / 2 - 0.4), row: Math.floor(y + height / 2 - 0.4), unit: vehicle.getScreenCTM().a };
    });
    const cells = () => page.locator("#here [data-name=vehicle]").evaluateAll((all) => all.map((v) => v.getAttribute("points")).sort().join(" "));
    const were = await cells();
    await drag("#here [data-key='vehicle 0'] [data-name=vehicle]", (10 - col) * unit, ((row === 6 ? 5 : 6) - row) * unit);
    await idle(page);
    assert.notEqual(await cells(), were);
    assert.equal((await cells()).split(" ").length, were.split(" ").length, "no vehicle is lost");
    assert.equal(await text(page, "refused"), "", "where it was dropped it could be");
    const before = await probabilities(page);
    const red = () => page.locator("#here [data-key='light 3'] [data-name=red]").evaluateAll((all) => all.map((l) => l.getAttribute("x1")).join());
    const was = await red();
    // A light is a thin line, and can be hit beside it.
    const [x, y] = await page.locator("#here [data-key='light 3'] [data-name=red]").evaluateAll((lines) => {
      const points = lines.flatMap((line) => [[0.3, 0.3], [-0.3, 0.3], [0.3, -0.3], [-0.3, -0.3]].map(([dx, dy]) => {
        const at = (k) => (Number(line.getAttribute(`${k}1`)) + Number(line.getAttribute(`${k}2`))) / 2;
        return new DOMPoint(at("x") + dx, at("y") + dy).matrixTransform(line.getScreenCTM());
      }));
      // A vehicle may stand there.
      const free = points.find((p) => document.elementFromPoint(p.x, p.y)?.matches("[data-key='light 3'] .hit"));
      return [free.x, free.y];
    });
    await after(page, () => page.mouse.click(x, y));
    assert.notEqual(await red(), was);
    assert.notEqual(await probabilities(page), before);
    // What cannot be is said in the world's own words, and nothing changes.
    const now = await cells();
    await page.locator("#here [data-key='vehicle 0']").focus();
    for (let k = 0; k < 40 && (await text(page, "refused")) === ""; k++) {
      await after(page, () => page.keyboard.press("ArrowUp"));
    }
    assert.match(await text(page, "refused"), /cannot be moved/);
    assert.equal((await cells()).split(" ").length, now.split(" ").length);
    // The browser notes every edit that was refused on the way.
    page.complaints = page.complaints.filter((text) => !text.includes("422"));
    await done(page);
  },

  async "the keyboard does everything"() {
    const page = await open("#symmetry");
    await answered(page);
    await team(page, "run:small/equivariant");
    await page.locator("#main").focus();
    await after(page, () => page.keyboard.press("."));
    assert.equal(await text(page, "steps"), "1");
    await after(page, () => page.keyboard.press(","));
    assert.equal(await text(page, "steps"), "0");
    await after(page, () => page.keyboard.press("g"));
    assert.equal(await page.locator("#elements [aria-pressed=true]").getAttribute("data-element"), "r2");
    await after(page, () => page.keyboard.press("4"));
    assert.equal(await page.locator("#elements [aria-pressed=true]").getAttribute("data-element"), "r3");
    await after(page, () => page.keyboard.press("m"));
    assert.ok((await difference(page)) > 1e-3);
    await after(page, () => page.keyboard.press("a"));
    assert.equal(await page.locator(".card.chosen").getAttribute("data-agent"), "1");
    await page.keyboard.press("Space");
    assert.equal(await page.locator("#play").getAttribute("aria-pressed"), "true");
    await page.keyboard.press("Space");
    assert.equal(await page.locator("#play").getAttribute("aria-pressed"), "false");
    const theme = () => page.locator("html").getAttribute("data-theme");
    const was = await theme();
    await page.keyboard.press("t");
    assert.notEqual(await theme(), was);
    await page.keyboard.press("?");
    assert.ok(await page.locator(".keys").isVisible());
    // Tab reaches what stands in the world, and arrows move it.
    await page.locator("#here [data-key='poacher']").focus();
    const at = () => page.locator("#here [data-name=poacher]").getAttribute("points");
    const here = await at();
    await after(page, () => page.keyboard.press("ArrowUp"));
    assert.notEqual(await at(), here);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.key), "poacher", "the focus stays");
    // Keys that are faster than answers all count.
    const high = (points) => Number(points.split(/[ ,]/)[1]);
    const before = high(await at());
    await after(page, async () => {
      for (let k = 0; k < 2; k++) await page.keyboard.press("ArrowDown");
    });
    const moved = high(await at()) - before;
    assert.ok([2, -5].some((way) => Math.abs(moved - way) < 0.1), `moved by ${moved}`);
    await team(page, "fresh:traffic:equivariant");
    await page.locator("#here [data-key='light 1']").focus();
    const light = () => page.locator("#here [data-key='light 1']").getAttribute("aria-label");
    const shone = await light();
    await after(page, () => page.keyboard.press("Enter"));
    assert.notEqual(await light(), shone);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.key), "light 1", "the focus stays");
    await page.locator("#here [data-agent='2']").focus();
    await after(page, () => page.keyboard.press("Enter"));
    assert.equal(await page.locator(".card.chosen").getAttribute("data-agent"), "2");
    // Everything that can be pressed has a name.
    const nameless = await page.locator("button, a, input, select, [role=button]").evaluateAll((all) => all
      .filter((e) => e.checkVisibility() && !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.[0]?.textContent.trim()))
      .map((e) => e.outerHTML));
    assert.deepEqual(nameless, []);
    await done(page);
  },

  async "a run in progress appears and grows; it may be killed and deleted"() {
    const page = await open("#runs");
    await page.waitForSelector("figure[data-world='wildlife-3'] path.fig-line");
    await page.evaluate(() => (window.unchanged = true));
    const live = path.join(runs, "live");
    const trainer = spawn(program, ["train", "--world", "wildlife", "--preset", "paper", "--steps", "2000000", "--seed", "3", "--threads", "1",
      "--quiet", "--set", "evaluate_every=0", "--out", live], { stdio: "inherit" });
    const row = page.locator("tr[data-run='live']");
    await row.waitFor({ timeout: 30000 });
    await page.waitForFunction(() => document.querySelector("tr[data-run='live']")?.dataset.state === "running");
    const finished = () => page.evaluate(() => Number(document.querySelector("tr[data-run='live']").dataset.done));
    const grows = (than) => page.waitForFunction((n) => Number(document.querySelector("tr[data-run='live']").dataset.done) > n, than, { timeout: 30000 });
    await grows(0);
    const updates = Number(await page.locator("#figures").getAttribute("data-updates"));
    await grows(await finished());
    await page.waitForFunction((n) => Number(document.querySelector("#figures").dataset.updates) > n, updates);
    assert.ok(await page.locator("#running").isVisible());
    const ended = new Promise((resolve) => trainer.on("exit", resolve));
    trainer.kill("SIGKILL");
    await ended;
    await page.waitForFunction(() => document.querySelector("tr[data-run='live']").dataset.state === "stopped", null, { timeout: 40000 });
    fs.rmSync(live, { recursive: true });
    await row.waitFor({ state: "detached", timeout: 10000 });
    assert.ok(await page.evaluate(() => window.unchanged), "nothing was loaded again");
    await done(page);
  },

  async "a team that is deleted while it plays is replaced"() {
    const doomed = path.join(runs, "doomed");
    fs.cpSync(path.join(runs, "small/plain"), doomed, { recursive: true });
    const page = await open("#episode");
    await answered(page);
    await page.waitForSelector("option[value='run:doomed']", { state: "attached" });
    await team(page, "run:doomed");
    await page.click("#play");
    fs.rmSync(doomed, { recursive: true });
    await page.waitForFunction(() => document.querySelector("#model").value !== "run:doomed" && /deleted/.test(document.querySelector("#problem").textContent));
    await after(page, () => page.click("#new"));
    await after(page, () => page.click("#step"));
    // The browser notes a step that was asked for in between; the page itself goes on.
    page.complaints = page.complaints.filter((text) => !text.includes("404"));
    await done(page);
  },

  async "at 1280 and 400 pixels, light and dark: nothing is cut off, everything can be read"() {
    for (const width of [1280, 400]) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await open("#symmetry", { viewport: { width, height: width === 400 ? 800 : 900 }, colorScheme });
        for (const view of ["symmetry", "episode", "runs"]) {
          await page.evaluate((v) => (location.hash = v), view);
          await page.waitForTimeout(400);
          const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
          assert.ok(wide <= width, `${view} is ${wide} wide at ${width}`);
          assert.deepEqual(await page.evaluate(cut), [], `${view} ${width}`);
          assert.deepEqual(await page.evaluate(faint), [], `${view} ${width} ${colorScheme}`);
          await picture(page, `${view}-${width}-${colorScheme}`);
        }
        await done(page);
      }
    }
  },

  async "every option of a world has a field, and what cannot be is said"() {
    const page = await open("#episode");
    await answered(page);
    await team(page, "fresh:traffic:equivariant");
    const labels = () => page.locator("#settings label").allTextContents();
    const traffic = ["Rows", "Cols", "Arrival steps", "Arrival probability", "Step limit", "Tilt", "Main road"];
    assert.deepEqual(await labels(), traffic);
    await after(page, async () => {
      await page.fill("#set-step_limit", "2");
      await page.locator("#set-step_limit").blur();
    });
    for (let k = 0; k < 2; k++) await after(page, () => page.click("#step"));
    assert.match(await text(page, "ending"), /cut off/);
    await team(page, "run:small/equivariant");
    assert.deepEqual(await labels(), ["Drones", "Grid", "Wind", "Wind from"]);
    await page.fill("#set-grid", "8");
    await page.locator("#set-grid").blur();
    await page.waitForFunction(() => /grid/.test(document.querySelector("#problem").textContent));
    await after(page, async () => {
      await page.fill("#set-grid", "7");
      await page.locator("#set-grid").blur();
    });
    // What is no size at all is said before anything is asked, with the field's name and range; the world stays.
    for (const [id, typed, said] of [
      ["set-drones", "-4", "Drones must be a whole number from 0 to 100,000; −4 is not."],
      ["set-drones", "2.5", "Drones must be a whole number from 0 to 100,000; 2.5 is not."],
      ["set-drones", "", "Drones must be a whole number from 0 to 100,000; there is none in the field."],
      ["set-drones", "1e9", "Drones must be a whole number from 0 to 100,000; 1e9 is not."],
      ["seed", "-4", "Seed must be a whole number from 0 to 9,007,199,254,740,991; −4 is not."],
      ["seed", "0.5", "Seed must be a whole number from 0 to 9,007,199,254,740,991; 0.5 is not."],
      ["seed", "", "Seed must be a whole number from 0 to 9,007,199,254,740,991; there is none in the field."],
    ]) {
      const was = await page.locator(`#${id}`).inputValue();
      await page.fill(`#${id}`, typed);
      await page.locator(`#${id}`).blur();
      await page.waitForFunction((text) => document.querySelector("#problem").textContent === text, said);
      assert.equal(await page.locator(`#${id}`).getAttribute("aria-invalid"), "true");
      assert.equal(await page.locator("#here .agent").count(), 3);
      assert.ok(await page.locator("#play").isVisible());
      await after(page, async () => {
        await page.fill(`#${id}`, was);
        await page.locator(`#${id}`).blur();
      });
    }
    // What is a size and none for this world, the world itself refuses.
    await page.fill("#set-drones", "1");
    await page.locator("#set-drones").blur();
    await page.waitForFunction(() => /at least 2; got 1/.test(document.querySelector("#problem").textContent));
    page.complaints = page.complaints.filter((text) => !text.includes("422"));
    await done(page);
  },

  async "ten by ten junctions"() {
    const page = await open("#episode");
    await answered(page);
    await team(page, "fresh:traffic:equivariant");
    for (const id of ["rows", "cols"]) {
      await after(page, async () => {
        await page.fill(`#set-${id}`, "10");
        await page.locator(`#set-${id}`).blur();
      });
    }
    assert.equal(await page.locator("#here .agent").count(), 100);
    await page.fill("#speed", "10");
    await page.click("#play");
    await page.waitForFunction(() => Number(document.querySelector("#steps").textContent) >= 10);
    await page.click("#play");
    await picture(page, "city");
    // From far away junctions have no shape of their own, but can be chosen.
    await after(page, async () => {
      await page.fill("#set-rows", "13");
      await page.locator("#set-rows").blur();
    });
    assert.equal(await page.locator("#here .agent").count(), 130);
    await after(page, () => page.locator("#here [data-agent='64']").click());
    assert.equal(await page.locator(".card.chosen").getAttribute("data-agent"), "64");
    await picture(page, "large-city");
    await done(page);
  },

  async "another site cannot use the server"() {
    const site = http.createServer((_, response) => response.setHeader("content-type", "text/html").end("<title>another site</title>"));
    await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
    const page = await (await browser.newContext()).newPage();
    await page.goto(`http://127.0.0.1:${site.address().port}/`);
    const tries = await page.evaluate(async (target) => {
      const read = (options) => fetch(target + "api/episode", options).then((r) => r.status, () => "refused");
      const body = JSON.stringify({ model: "fresh:wildlife:plain" });
      return [
        await read({ method: "POST", headers: { "content-type": "application/json" }, body }),
        await read({ method: "POST", headers: { "content-type": "text/plain" }, body }),
        await fetch(target + "api/events").then((r) => r.status, () => "refused"),
      ];
    }, url);
    assert.deepEqual(tries, ["refused", "refused", "refused"]);
    assert.match(fs.readFileSync(log, "utf8"), /refused 403 POST "\/api\/episode"/, "and it is written down");
    await page.context().close();
    site.close();
  },
};

/** Runs in the page: what has to be scrolled sideways, and texts of figures that end beyond them or were shortened. */
function cut() {
  const seen = [...document.querySelectorAll("main *")].filter((element) => element.checkVisibility());
  const scrolls = seen.filter((e) => e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX));
  const ends = seen.filter((e) => e.matches(".fig text") && (e.textContent.endsWith("\u2026") || e.getBoundingClientRect().right > e.closest("figure").getBoundingClientRect().right));
  return [...scrolls.map((e) => `${e.tagName}.${e.className} ${e.scrollWidth} in ${e.clientWidth}`), ...ends.map((e) => e.textContent)];
}

/** Runs in the page: texts that are seen with a contrast below 4.5, or 3 if they are large. */
function faint() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const part = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const found = colour(getComputedStyle(e).backgroundColor);
      if (found[3] > 250) return found;
    }
    return [255, 255, 255];
  };
  const found = new Set();
  for (const element of document.querySelectorAll("body *:not(svg *, option, optgroup, noscript)")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility() || element.disabled || element.closest(".spoken, .skip")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(colour(style.color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) found.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...found];
}

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
  try {
    await test();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n${error.stack}`);
  }
}
await browser.close();
process.exit(failed === 0 ? 0 : 1);
