"""Parts of the simulated model: how it reads text, follows a skill, answers, and improves a skill."""
