/**
 * The flags for opening a file, as in the platforms' public headers. Linux on arm64 numbers two of them differently.
 */

import { ARM64, MACOS } from "./platform.ts";

export const O_RDONLY = 0;
export const O_WRONLY = 1;
export const O_RDWR = 2;
export const O_ACCMODE = 3;
export const O_APPEND = MACOS ? 0x8 : 0x400;
export const O_NONBLOCK = MACOS ? 0x4 : 0x800;
export const O_NOFOLLOW = MACOS ? 0x100 : ARM64 ? 0x8000 : 0x2_0000;
export const O_DIRECTORY = MACOS ? 0x10_0000 : ARM64 ? 0x4000 : 0x1_0000;
export const O_CLOEXEC = MACOS ? 0x100_0000 : 0x8_0000;
export const O_CREAT = MACOS ? 0x200 : 0x40;
export const O_EXCL = MACOS ? 0x800 : 0x80;
export const O_NOCTTY = MACOS ? 0x2_0000 : 0x100;
/** Linux only: holds an entry without opening it, so no permission on it is needed. */
export const O_PATH = 0x20_0000;
