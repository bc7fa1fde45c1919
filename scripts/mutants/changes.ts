/** The changes that a mutation run makes to a source file, one at a time, found in its syntax tree. */

import { join } from "node:path";
import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import { API } from "typescript/unstable/async";

/** One change: `text` replaces what is between `start` and `end`. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
  /** What was changed to what, on one line. */
  readonly what: string;
}

/** A change of a file, with what the file says without it. */
export interface Mutant extends Change {
  /** From the root of the tree. */
  readonly file: string;
  readonly source: string;
}

/** The replacements for each operator. */
const OPERATORS: Partial<Record<string, readonly string[]>> = {
  "<": ["<=", ">"],
  "<=": ["<", ">"],
  ">": [">=", "<"],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "&&": ["||"],
  "||": ["&&"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&": ["|"],
  "|": ["&"],
  "^": ["|"],
  "<<": [">>"],
  ">>": ["<<"],
  "+=": ["-="],
  "-=": ["+="],
  "|=": ["&="],
};

/** Types do not run, and without its imports a module does not compile. */
const LEFT_ALONE: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.ImportDeclaration,
  SyntaxKind.ExportDeclaration,
  SyntaxKind.TypeParameter,
  SyntaxKind.SatisfiesExpression,
]);

/** Every change of these files; their paths are from the root of the tree. */
export async function mutantsOf(root: string, files: readonly string[]): Promise<Mutant[]> {
  const config = join(root, "tsconfig.json");
  const api = new API({ cwd: root });
  try {
    const snapshot = await api.updateSnapshot({ openProject: config });
    const [project] = snapshot.getProjects();
    const mutants: Mutant[] = [];
    for (const file of files.filter((name) => name.endsWith(".ts"))) {
      const parsed = await project?.program.getSourceFile(join(root, file));
      if (!parsed) throw new Error(`${file} is not part of ${config}`);
      for (const change of changesOf(parsed)) mutants.push({ ...change, file, source: parsed.text });
    }
    return mutants;
  } finally {
    await api.close();
  }
}

/** Every change of one file, in the order of its text. */
function changesOf(file: SourceFile): Change[] {
  const source = file.text;
  const changes: Change[] = [];
  const add = (start: number, end: number, text: string) => {
    const was = source.slice(start, end);
    const line = source.slice(0, start).split("\n").length;
    const what = `${oneLine(was)} -> ${text === "" ? "(deleted)" : oneLine(text)}`;
    changes.push({ start, end, text, line, what });
  };
  const walk = (node: Node): void => {
    if (LEFT_ALONE.has(node.kind) || isType(node)) return;
    const start = node.getStart(file);
    for (const text of replacements(node, file)) add(start, node.end, text);
    const condition = conditionOf(node);
    if (condition) for (const text of ["true", "false"]) add(condition.getStart(file), condition.end, text);
    node.forEachChild((child) => walk(child));
  };
  walk(file);
  return changes.sort((one, other) => one.start - other.start);
}

function replacements(node: Node, file: SourceFile): readonly string[] {
  const text = node.getText(file);
  switch (node.kind) {
    case SyntaxKind.ExpressionStatement:
    case SyntaxKind.ContinueStatement:
    case SyntaxKind.BreakStatement:
      return [";"];
    case SyntaxKind.TrueKeyword:
      return ["false"];
    case SyntaxKind.FalseKeyword:
      return ["true"];
    case SyntaxKind.NumericLiteral:
      return [`(${text} + 1)`];
    case SyntaxKind.BigIntLiteral:
      return [`(${text} + 1n)`];
    case SyntaxKind.StringLiteral:
      return isName(node) || text.length === 2 ? [] : ['""'];
    case SyntaxKind.PrefixUnaryExpression:
      return text.startsWith("!") ? [text.slice(1)] : text.startsWith("-") ? [text.slice(1)] : [];
    case SyntaxKind.PostfixUnaryExpression:
      return [text.endsWith("++") ? `${text.slice(0, -2)}--` : `${text.slice(0, -2)}++`];
    default:
      return OPERATORS[text] && node.parent.kind === SyntaxKind.BinaryExpression ? OPERATORS[text] : [];
  }
}

/** The condition of a statement or expression, if it has one. */
function conditionOf(node: Node): Node | undefined {
  switch (node.kind) {
    case SyntaxKind.IfStatement:
    case SyntaxKind.WhileStatement:
    case SyntaxKind.ConditionalExpression: {
      let condition: Node | undefined;
      node.forEachChild((child) => {
        condition ??= child;
      });
      return condition;
    }
    default:
      return undefined;
  }
}

/** A text that names a member or a module. Its change would not compile, so it says nothing about the tests. */
function isName(node: Node): boolean {
  const parent = node.parent;
  return parent.kind === SyntaxKind.PropertyAssignment && node.pos <= parent.pos + 1;
}

function isType(node: Node): boolean {
  return node.kind >= SyntaxKind.FirstTypeNode && node.kind <= SyntaxKind.LastTypeNode;
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 70 ? `${line.slice(0, 67)}...` : line;
}
